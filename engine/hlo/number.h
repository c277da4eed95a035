#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace p2::hlo {

/// Holds every product of two 64-bit numbers.
__extension__ using Wide = __int128;
__extension__ using WideUnsigned = unsigned __int128;

/// An exact fraction in lowest terms with 64-bit parts. Operations whose result does not fit return
/// nothing: no value is ever rounded.
struct Number {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;  ///< > 0

  bool operator==(const Number&) const = default;
  bool is_whole() const { return denominator == 1; }
  bool is_zero() const { return numerator == 0; }
  double to_double() const;

  /// Precondition: `denominator` is not 0.
  static std::optional<Number> ratio(Wide numerator, Wide denominator);
  /// Parses `-1.5e-3`, `12`, `true`; nothing for `inf`, `nan` and numbers of more than 64 bits.
  static std::optional<Number> read(std::string_view text);
};

std::optional<Number> sum(Number a, Number b);
std::optional<Number> product(Number a, Number b);
/// Nothing if `b` is 0.
std::optional<Number> quotient(Number a, Number b);
/// -1, 0 or 1.
int compare(Number a, Number b);
std::string to_string(Number number);

}  // namespace p2::hlo
