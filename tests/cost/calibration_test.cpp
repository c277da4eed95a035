#include "engine/cost/calibration.h"

#include <doctest/doctest.h>

#include <array>

#include "tests/cost/systems.h"

using namespace p2;

namespace {

constexpr double kBytes = 2147483648.0;

/// Measurements that a system with other bandwidths would give.
std::vector<Measurement> measured_on(const System& real, const Network& network,
                                     StepPricer& pricer) {
  std::vector<Measurement> all;
  for (const char* placement : {"[[2 1] [1 8]]", "[[1 2] [2 4]]"}) {
    for (const char* reduce : {"0", "1"}) {
      const Instance instance = placed(real, "2,8", reduce, placement);
      const Rational seconds = step_seconds(real, Algorithm::Ring, Collective::AllReduce,
                                            instance.classes(), Rational(Rational(std::int64_t{1} << 31)));
      all.push_back(
          {price_allreduce(instance.classes(), network.system().hierarchy.devices(), pricer),
           kBytes, to_double(seconds)});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("fitting finds the bandwidths that made the measurements, and touches no other") {
  const System guess = shipped_system("v100-2nodes");
  System real = guess;
  real.interconnects[2].bytes_per_second = 10'500'000'000;  // CPU memory
  real.interconnects[4].bytes_per_second = 11'800'000'000;  // NIC
  const Network network(guess, {"test"});
  StepPricer pricer(network, Algorithm::Ring);
  const auto measurements = measured_on(real, network, pricer);
  CHECK(fitted(network, {2, 4}, measurements) == real);
  CHECK(fitted(network, {4, 2}, measurements) == real);
  const System only_nic = fitted(network, {4}, measurements);
  CHECK(only_nic.interconnects[2] == guess.interconnects[2]);
  // The PCIe switch is never the narrowest, so nothing says what its bandwidth is.
  CHECK(fitted(network, {1}, measured_on(guess, network, pricer)) == guess);
}

TEST_CASE("predictions follow the factors") {
  const System system = shipped_system("a100-2nodes");
  const Network network(system, {"test"});
  StepPricer pricer(network, Algorithm::Ring);
  const Instance instance = placed(system, "32", "0", "[[2 16]]");
  const Measurement each{price_allreduce(instance.classes(), 32, pricer), 8e9, 1};
  CHECK(predicted_seconds(each, network, {1, 1, 1}) == doctest::Approx(2.0 * 31 / 32));
  CHECK(predicted_seconds(each, network, {1, 1.25, 1}) == doctest::Approx(2.0 * 31 / 32 / 1.25));
  // A NIC that is fast enough leaves the network's port as the narrowest.
  CHECK(predicted_seconds(each, network, {1, 10, 1}) == doctest::Approx(2.0 * 31 / 32 * 8 / 12.5));
}

TEST_CASE("rank correlation and median error of small lists, by hand") {
  const std::array<double, 4> up{1, 2, 3, 4};
  const std::array<double, 4> down{9, 8, 2, 1};
  const std::array<double, 4> tied{1, 5, 5, 9};
  const std::array<double, 4> same{7, 7, 7, 7};
  CHECK(rank_correlation(up, up) == doctest::Approx(1));
  CHECK(rank_correlation(up, down) == doctest::Approx(-1));
  CHECK(rank_correlation(up, tied) == doctest::Approx(0.9486832981));  // 4.5 / sqrt(5 · 4.5)
  CHECK(rank_correlation(up, same) == 0);
  CHECK(median_relative_error(std::array{1.1, 2.0, 9.0}, std::array{1.0, 2.0, 3.0}) ==
        doctest::Approx(0.1));
  CHECK(median_relative_error(std::array{1.1, 2.0}, std::array{1.0, 2.0}) == doctest::Approx(0.05));
}
