#include "engine/hlo/number.h"

#include <fmt/format.h>

namespace p2::hlo {
namespace {

constexpr Wide kLargest = INT64_MAX;

Wide greatest_common_divisor(Wide a, Wide b) {
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

/// 10^power, at most 10^18.
std::optional<Wide> ten_to(int power) {
  if (power > 18) return std::nullopt;
  Wide result = 1;
  for (int i = 0; i < power; ++i) result *= 10;
  return result;
}

/// A decimal number without exponent: mantissa · 10^-fraction_digits.
struct Decimal {
  Wide mantissa = 0;
  int fraction_digits = 0;
  std::size_t length = 0;  ///< of its text
};

std::optional<Decimal> decimal(std::string_view text) {
  Decimal read;
  bool point = false;
  bool digits = false;
  for (; read.length < text.size(); ++read.length) {
    const char ch = text[read.length];
    if (ch == '.' && !point) {
      point = true;
    } else if (ch >= '0' && ch <= '9') {
      digits = true;
      read.mantissa = read.mantissa * 10 + (ch - '0');
      if (read.mantissa > kLargest) return std::nullopt;
      if (point) ++read.fraction_digits;
    } else {
      break;
    }
  }
  if (!digits) return std::nullopt;
  return read;
}

std::optional<int> exponent(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] != 'e' && text[0] != 'E') return std::nullopt;
  std::size_t at = 1;
  const bool negative = at < text.size() && text[at] == '-';
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  if (at == text.size()) return std::nullopt;
  int value = 0;
  for (; at < text.size(); ++at) {
    if (text[at] < '0' || text[at] > '9' || value > 1000) return std::nullopt;
    value = value * 10 + (text[at] - '0');
  }
  return negative ? -value : value;
}

}  // namespace

double Number::to_double() const {
  // Both parts are exact in 64 bits, so that texts of different doubles give different doubles.
  return static_cast<double>(static_cast<long double>(numerator) /
                             static_cast<long double>(denominator));
}

std::optional<Number> Number::ratio(Wide numerator, Wide denominator) {
  const Wide common = greatest_common_divisor(numerator, denominator) * (denominator < 0 ? -1 : 1);
  numerator /= common;
  denominator /= common;
  if (numerator > kLargest || numerator < -kLargest || denominator > kLargest) return std::nullopt;
  return Number{static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator)};
}

std::optional<Number> Number::read(std::string_view text) {
  if (text == "true") return Number{1, 1};
  if (text == "false") return Number{0, 1};
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  const auto read = decimal(text);
  if (!read) return std::nullopt;
  const auto power = exponent(text.substr(read->length));
  if (!power) return std::nullopt;
  if (read->mantissa == 0) return Number{};
  const int shift = *power - read->fraction_digits;
  const auto factor = ten_to(shift < 0 ? -shift : shift);
  if (!factor) return std::nullopt;
  const Wide sign = negative ? -1 : 1;
  return shift < 0 ? ratio(sign * read->mantissa, *factor)
                   : ratio(sign * read->mantissa * *factor, 1);
}

std::optional<Number> sum(Number a, Number b) {
  const Wide numerator = static_cast<Wide>(a.numerator) * b.denominator +
                         static_cast<Wide>(b.numerator) * a.denominator;
  return Number::ratio(numerator, static_cast<Wide>(a.denominator) * b.denominator);
}

std::optional<Number> product(Number a, Number b) {
  return Number::ratio(static_cast<Wide>(a.numerator) * b.numerator,
                       static_cast<Wide>(a.denominator) * b.denominator);
}

std::optional<Number> quotient(Number a, Number b) {
  if (b.is_zero()) return std::nullopt;
  return Number::ratio(static_cast<Wide>(a.numerator) * b.denominator,
                       static_cast<Wide>(a.denominator) * b.numerator);
}

int compare(Number a, Number b) {
  const Wide left = static_cast<Wide>(a.numerator) * b.denominator;
  const Wide right = static_cast<Wide>(b.numerator) * a.denominator;
  return left < right ? -1 : left > right ? 1 : 0;
}

std::string to_string(Number number) {
  return number.is_whole() ? fmt::format("{}", number.numerator)
                           : fmt::format("{}/{}", number.numerator, number.denominator);
}

}  // namespace p2::hlo
