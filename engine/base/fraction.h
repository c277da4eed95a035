#pragma once

#include <compare>
#include <cstdint>
#include <stdexcept>

namespace p2 {

/// An exact fraction in lowest terms, for costs counted in parts of a buffer, of which searches
/// compare millions; those of a system, in seconds, are Rational. Throws std::overflow_error where
/// a numerator or denominator does not fit 64 bits, so that no comparison is ever made with a wrong
/// number.
class Fraction {
 public:
  // Whole numbers are fractions.
  constexpr Fraction(std::int64_t whole = 0) : numerator_(whole) {}  // NOLINT
  /// `denominator` must not be 0.
  constexpr Fraction(std::int64_t numerator, std::int64_t denominator)
      : Fraction(lowest(numerator, denominator)) {}

  constexpr std::int64_t numerator() const { return numerator_; }
  /// At least 1.
  constexpr std::int64_t denominator() const { return denominator_; }

  friend constexpr Fraction operator+(const Fraction& a, const Fraction& b) {
    return lowest(Wide{a.numerator_} * b.denominator_ + Wide{b.numerator_} * a.denominator_,
                  Wide{a.denominator_} * b.denominator_);
  }
  friend constexpr Fraction operator-(const Fraction& a, const Fraction& b) {
    return lowest(Wide{a.numerator_} * b.denominator_ - Wide{b.numerator_} * a.denominator_,
                  Wide{a.denominator_} * b.denominator_);
  }
  friend constexpr Fraction operator*(const Fraction& a, const Fraction& b) {
    return lowest(Wide{a.numerator_} * b.numerator_, Wide{a.denominator_} * b.denominator_);
  }
  /// `b` must not be 0.
  friend constexpr Fraction operator/(const Fraction& a, const Fraction& b) {
    return lowest(Wide{a.numerator_} * b.denominator_, Wide{a.denominator_} * b.numerator_);
  }
  friend constexpr bool operator==(const Fraction&, const Fraction&) = default;
  friend constexpr std::strong_ordering operator<=>(const Fraction& a, const Fraction& b) {
    return Wide{a.numerator_} * b.denominator_ <=> Wide{b.numerator_} * a.denominator_;
  }

 private:
  __extension__ using Wide = __int128;

  static constexpr Fraction lowest(Wide numerator, Wide denominator) {
    Wide a = numerator < 0 ? -numerator : numerator;
    Wide b = denominator < 0 ? -denominator : denominator;
    while (b != 0) {
      const Wide rest = a % b;
      a = b;
      b = rest;
    }
    if (denominator < 0) a = -a;
    Fraction fraction;
    fraction.numerator_ = fitting(numerator / a);
    fraction.denominator_ = fitting(denominator / a);
    return fraction;
  }

  static constexpr std::int64_t fitting(Wide number) {
    if (number > INT64_MAX || number < -INT64_MAX) {
      throw std::overflow_error("a fraction is out of 64 bits, expected smaller numbers");
    }
    return static_cast<std::int64_t>(number);
  }

  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 1;
};

}  // namespace p2
