#include "engine/topology/interconnect.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "engine/base/invariant.h"

namespace p2 {
namespace {

/// A unit is 10^exponent / divisor of the unit that we count in.
struct Unit {
  std::string_view name;
  unsigned exponent;
  std::uint64_t divisor;
};

// Where two notations are equally long, the one that comes first here is written.
constexpr std::array<Unit, 10> kBandwidths{{{"B/s", 0, 1},
                                            {"KB/s", 3, 1},
                                            {"MB/s", 6, 1},
                                            {"GB/s", 9, 1},
                                            {"TB/s", 12, 1},
                                            {"bit/s", 0, 8},
                                            {"Kbit/s", 3, 8},
                                            {"Mbit/s", 6, 8},
                                            {"Gbit/s", 9, 8},
                                            {"Tbit/s", 12, 8}}};
constexpr std::array<Unit, 5> kLatencies{
    {{"ps", 0, 1}, {"ns", 3, 1}, {"us", 6, 1}, {"ms", 9, 1}, {"s", 12, 1}}};

constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();

/// A kind of quantity: its units and what messages say of it.
struct Quantity {
  std::span<const Unit> units;
  std::string_view name;
  std::string_view example;
  std::string_view counted_in;
};

constexpr Quantity kBandwidth{kBandwidths, "bandwidth", "270 GB/s or 100 Gbit/s",
                              "bytes per second"};
constexpr Quantity kLatency{kLatencies, "latency", "700 ns or 1.5 us", "picoseconds"};

/// `whole`.`fraction`, without zeros at the end of the fraction.
struct Decimal {
  std::string_view whole;
  std::string_view fraction;
};

std::string_view take_digits(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

std::optional<Decimal> take_decimal(std::string_view& text) {
  Decimal number{take_digits(text), {}};
  if (number.whole.empty()) return std::nullopt;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    number.fraction = take_digits(text);
    if (number.fraction.empty()) return std::nullopt;
  }
  while (number.fraction.ends_with('0')) number.fraction.remove_suffix(1);
  return number;
}

/// number * 10^exponent, for a fraction of at most `exponent` digits; nothing beyond 64 bits.
std::optional<std::uint64_t> scaled(const Decimal& number, std::size_t exponent) {
  const std::string zeros(exponent - number.fraction.size(), '0');
  std::uint64_t value = 0;
  for (const std::string_view digits : {number.whole, number.fraction, std::string_view(zeros)}) {
    for (const char ch : digits) {
      const auto digit = static_cast<std::uint64_t>(ch - '0');
      if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return std::nullopt;
      value = value * 10 + digit;
    }
  }
  return value;
}

std::int64_t parse(const Quantity& quantity, std::string_view text, const SourcePosition& where) {
  std::string_view rest = text;
  const auto number = take_decimal(rest);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const auto unit = std::find_if(quantity.units.begin(), quantity.units.end(),
                                 [rest](const Unit& each) { return each.name == rest; });
  if (!number || unit == quantity.units.end()) {
    throw InputError(where, fmt::format("\"{}\" is no {}, expected one such as {}", text,
                                        quantity.name, quantity.example));
  }
  const bool too_fine = number->fraction.size() > unit->exponent;
  const auto value = too_fine ? std::nullopt : scaled(*number, unit->exponent);
  if (too_fine || (value && *value % unit->divisor != 0)) {
    throw InputError(where, fmt::format("the {} \"{}\" is not exact, expected a whole number of {}",
                                        quantity.name, text, quantity.counted_in));
  }
  if (!value || *value / unit->divisor > kMost) {
    throw InputError(where, fmt::format("the {} \"{}\" is too large, expected less than 2^63 {}",
                                        quantity.name, text, quantity.counted_in));
  }
  return static_cast<std::int64_t>(*value / unit->divisor);
}

std::string in_unit(std::uint64_t numerator, const Unit& unit) {
  std::string digits = fmt::format("{:0{}}", numerator, unit.exponent + 1);
  std::string fraction = digits.substr(digits.size() - unit.exponent);
  digits.resize(digits.size() - unit.exponent);
  fraction.resize(fraction.find_last_not_of('0') + 1);
  return fmt::format("{}{}{} {}", digits, fraction.empty() ? "" : ".", fraction, unit.name);
}

std::string shortest(const Quantity& quantity, std::int64_t amount) {
  invariant(amount >= 0, "a quantity is negative");
  const auto value = static_cast<std::uint64_t>(amount);
  std::string best;
  for (const Unit& unit : quantity.units) {
    if (value > std::numeric_limits<std::uint64_t>::max() / unit.divisor) continue;
    std::string text = in_unit(value * unit.divisor, unit);
    if (best.empty() || text.size() < best.size()) best = std::move(text);
  }
  return best;
}

}  // namespace

std::int64_t parse_bandwidth(std::string_view text, const SourcePosition& where) {
  const std::int64_t bytes_per_second = parse(kBandwidth, text, where);
  if (bytes_per_second == 0) {
    throw InputError(where, fmt::format("the bandwidth \"{}\" is zero, expected more", text));
  }
  return bytes_per_second;
}

std::int64_t parse_latency(std::string_view text, const SourcePosition& where) {
  return parse(kLatency, text, where);
}

std::string bandwidth_to_string(std::int64_t bytes_per_second) {
  return shortest(kBandwidth, bytes_per_second);
}

std::string latency_to_string(std::int64_t picoseconds) { return shortest(kLatency, picoseconds); }

std::string_view to_string(InterconnectKind kind) {
  switch (kind) {
    case InterconnectKind::Switch:
      return "switch";
    case InterconnectKind::Ring:
      return "ring";
    case InterconnectKind::SharedNic:
      return "shared-nic";
    case InterconnectKind::SharedMedium:
      return "shared-medium";
  }
  return {};
}

std::string_view to_string(Duplex duplex) { return duplex == Duplex::Full ? "full" : "half"; }

}  // namespace p2
