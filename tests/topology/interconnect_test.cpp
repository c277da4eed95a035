#include "engine/topology/interconnect.h"

#include <doctest/doctest.h>
#include <limits>
#include <string>

#include "tests/base/complaint.h"

namespace p2 {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::int64_t bandwidth(std::string_view text) { return parse_bandwidth(text, {"f", 2, 3}); }
std::int64_t latency(std::string_view text) { return parse_latency(text, {"f", 2, 3}); }

std::string bandwidth_complaint(std::string_view text) {
  return complaint([text] { bandwidth(text); });
}
std::string latency_complaint(std::string_view text) {
  return complaint([text] { latency(text); });
}

}  // namespace

TEST_CASE("bandwidths are read exactly, in decimal prefixes of bytes and bits") {
  CHECK(bandwidth("270 GB/s") == 270'000'000'000);
  CHECK(bandwidth("12.5 GB/s") == 12'500'000'000);
  CHECK(bandwidth("100 Gbit/s") == 12'500'000'000);
  CHECK(bandwidth("0.1 GB/s") == 100'000'000);
  CHECK(bandwidth("1.6 Tbit/s") == 200'000'000'000);
  CHECK(bandwidth("1 B/s") == 1);
  CHECK(bandwidth("1 KB/s") == 1'000);
  CHECK(bandwidth("1 MB/s") == 1'000'000);
  CHECK(bandwidth("1 TB/s") == 1'000'000'000'000);
  CHECK(bandwidth("8 bit/s") == 1);
  CHECK(bandwidth("1 Kbit/s") == 125);
  CHECK(bandwidth("1 Mbit/s") == 125'000);
  CHECK(bandwidth("8GB/s") == 8'000'000'000);
  CHECK(bandwidth("008.500   GB/s") == 8'500'000'000);
  CHECK(bandwidth("1.000000000000 B/s") == 1);
}

TEST_CASE("latencies are read exactly") {
  CHECK(latency("700 ns") == 700'000);
  CHECK(latency("0.3 ns") == 300);
  CHECK(latency("1.5 us") == 1'500'000);
  CHECK(latency("0.001 ns") == 1);
  CHECK(latency("5 ps") == 5);
  CHECK(latency("2 ms") == 2'000'000'000);
  CHECK(latency("1 s") == 1'000'000'000'000);
  CHECK(latency("0 ns") == 0);
  CHECK(latency("0.0000 ns") == 0);
}

TEST_CASE("a quantity that is not a whole number of units is refused") {
  CHECK(latency_complaint("0.0001 ns") ==
        "f:2:3: the latency \"0.0001 ns\" is not exact, expected a whole number of picoseconds");
  CHECK(bandwidth_complaint("1.5 B/s") ==
        "f:2:3: the bandwidth \"1.5 B/s\" is not exact, expected a whole number of bytes per "
        "second");
  CHECK(bandwidth_complaint("100 bit/s") ==
        "f:2:3: the bandwidth \"100 bit/s\" is not exact, expected a whole number of bytes per "
        "second");
}

TEST_CASE("a quantity is read up to 2^63 - 1 and refused beyond it") {
  CHECK(bandwidth("9223372036854775807 B/s") == kMost);
  CHECK(latency("9223372.036854775807 s") == kMost);
  for (const std::string text : {"9223372036854775808 B/s", "9223372036854775808 TB/s",
                                 "18446744073709551617 B/s", "99999999999999999999 bit/s"}) {
    CHECK(bandwidth_complaint(text) == "f:2:3: the bandwidth \"" + text +
                                           "\" is too large, expected less than 2^63 bytes per "
                                           "second");
  }
  CHECK(latency_complaint("9223372.036854775808 s") ==
        "f:2:3: the latency \"9223372.036854775808 s\" is too large, expected less than 2^63 "
        "picoseconds");
}

TEST_CASE("what is no quantity is refused with an example of one") {
  for (const std::string text :
       {"", "270", "GB/s", "270 GiB/s", "270 gb/s", "270 GB", "270 GB/s ", " 270 GB/s", "-1 GB/s",
        "+1 GB/s", "1. GB/s", ".5 GB/s", "1e3 GB/s", "1,5 GB/s", "1 2 GB/s", "0x1 GB/s", "700 ns",
        "nan GB/s"}) {
    CHECK(bandwidth_complaint(text) ==
          "f:2:3: \"" + text + "\" is no bandwidth, expected one such as 270 GB/s or 100 Gbit/s");
  }
  for (const std::string text : {"", "700", "ns", "700 NS", "1 min", "-1 ns", "270 GB/s"}) {
    CHECK(latency_complaint(text) ==
          "f:2:3: \"" + text + "\" is no latency, expected one such as 700 ns or 1.5 us");
  }
}

TEST_CASE("a bandwidth is positive") {
  CHECK(bandwidth_complaint("0.0 GB/s") ==
        "f:2:3: the bandwidth \"0.0 GB/s\" is zero, expected more");
}

TEST_CASE("quantities are written in their shortest notation") {
  CHECK(bandwidth_to_string(270'000'000'000) == "270 GB/s");
  CHECK(bandwidth_to_string(12'500'000'000) == "12.5 GB/s");
  CHECK(bandwidth_to_string(1'125'000'000) == "9 Gbit/s");
  CHECK(bandwidth_to_string(500'000'000) == "500 MB/s");
  CHECK(bandwidth_to_string(1) == "1 B/s");
  CHECK(latency_to_string(0) == "0 s");
  CHECK(latency_to_string(300) == "300 ps");
  CHECK(latency_to_string(700'000) == "700 ns");
  CHECK(latency_to_string(1'500'000) == "1.5 us");
}

TEST_CASE("parsing inverts writing") {
  std::uint64_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto value = static_cast<std::int64_t>((state >> 1) >> (round % 63));
    CHECK(latency(latency_to_string(value)) == value);
    if (value > 0) CHECK(bandwidth(bandwidth_to_string(value)) == value);
  }
  for (std::int64_t value = 1; value < kMost / 10; value *= 10) {
    for (const std::int64_t near : {value - 1, value, value + 1, value * 5}) {
      CHECK(latency(latency_to_string(near)) == near);
      if (near > 0) CHECK(bandwidth(bandwidth_to_string(near)) == near);
    }
  }
  CHECK(latency(latency_to_string(kMost)) == kMost);
  CHECK(bandwidth(bandwidth_to_string(kMost)) == kMost);
}

}  // namespace p2
