#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

namespace p2 {

/// An exact rational number of any size, in lowest terms: costs that are compared are never rounded,
/// and nothing overflows. Numerators and denominators of 64 bits are computed with in place, of which
/// searches compare millions; larger ones are on the heap.
class Rational {
 public:
  Rational() = default;
  // Whole numbers are rationals.
  template <std::signed_integral T>
  Rational(T whole) : numerator_(whole) {  // NOLINT(google-explicit-constructor)
    if (numerator_ == INT64_MIN) *this = from_wide(numerator_, 1);
  }
  template <std::unsigned_integral T>
  Rational(T whole) {  // NOLINT(google-explicit-constructor)
    if (whole <= static_cast<std::uint64_t>(INT64_MAX)) {
      numerator_ = static_cast<std::int64_t>(whole);
    } else {
      *this = from_unsigned(whole);
    }
  }
  /// `denominator` is not 0.
  Rational(const Rational& numerator, const Rational& denominator) {
    *this = numerator / denominator;
  }
  Rational(const Rational& other) : numerator_(other.numerator_), denominator_(other.denominator_) {
    if (is_big()) copy_big(other);
  }
  Rational(Rational&& other) noexcept
      : numerator_(other.numerator_), denominator_(other.denominator_) {
    other.denominator_ = 1;
  }
  Rational& operator=(const Rational& other) {
    if (this != &other) *this = Rational(other);
    return *this;
  }
  Rational& operator=(Rational&& other) noexcept {
    std::swap(numerator_, other.numerator_);
    std::swap(denominator_, other.denominator_);
    return *this;
  }
  ~Rational() {
    if (is_big()) free_big();
  }

  friend Rational operator+(const Rational& a, const Rational& b) {
    if (a.is_big() || b.is_big()) return big_sum(a, b);
    if (a.denominator_ == 1 && b.denominator_ == 1) {
      return lowest(Wide{a.numerator_} + b.numerator_, 1);
    }
    return lowest(Wide{a.numerator_} * b.denominator_ + Wide{b.numerator_} * a.denominator_,
                  Wide{a.denominator_} * b.denominator_);
  }
  friend Rational operator-(const Rational& a, const Rational& b) { return a + -b; }
  friend Rational operator*(const Rational& a, const Rational& b) {
    if (a.is_big() || b.is_big()) return big_product(a, b);
    return lowest(Wide{a.numerator_} * b.numerator_, Wide{a.denominator_} * b.denominator_);
  }
  /// `b` is not 0.
  friend Rational operator/(const Rational& a, const Rational& b) { return a * b.inverse(); }
  Rational operator-() const;
  Rational& operator+=(const Rational& other) { return *this = *this + other; }
  Rational& operator-=(const Rational& other) { return *this = *this - other; }
  Rational& operator*=(const Rational& other) { return *this = *this * other; }
  Rational& operator/=(const Rational& other) { return *this = *this / other; }

  friend bool operator==(const Rational& a, const Rational& b) {
    if (a.is_big() || b.is_big()) return big_compare(a, b) == 0;
    return a.numerator_ == b.numerator_ && a.denominator_ == b.denominator_;
  }
  friend double to_double(const Rational& value);
  friend std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
    if (a.is_big() || b.is_big()) return big_compare(a, b) <=> 0;
    return Wide{a.numerator_} * b.denominator_ <=> Wide{b.numerator_} * a.denominator_;
  }

  Rational numerator() const;
  /// At least 1.
  Rational denominator() const;
  bool is_whole() const;
  /// The largest whole number that is not larger.
  Rational floor() const;
  /// The value of a whole number. Throws LimitReached (Size) if it does not fit.
  std::int64_t to_int64() const;
  std::uint64_t to_uint64() const;
  /// `3` or `3/4`.
  std::string to_string() const;

 private:
  __extension__ using Wide = __int128;
  struct Big;

  bool is_big() const { return denominator_ == 0; }
  Rational inverse() const;
  /// `numerator / denominator`, whose denominator is positive.
  static Rational lowest(Wide numerator, Wide denominator) {
    Wide a = numerator < 0 ? -numerator : numerator;
    Wide b = denominator;
    while (b != 1 && b != 0) {
      const Wide rest = a % b;
      a = b;
      b = rest;
    }
    // b is 1 where the denominator is, or where the greatest common divisor is.
    const Wide divisor = b == 1 ? 1 : a;
    numerator /= divisor;
    denominator /= divisor;
    if (numerator > INT64_MAX || numerator < -INT64_MAX || denominator > INT64_MAX) {
      return from_wide(numerator, denominator);
    }
    Rational result;
    result.numerator_ = static_cast<std::int64_t>(numerator);
    result.denominator_ = static_cast<std::int64_t>(denominator);
    return result;
  }
  static Rational from_wide(Wide numerator, Wide denominator);
  static Rational from_unsigned(std::uint64_t whole);
  static Rational from_big(const Big& value);
  static Rational big_sum(const Rational& a, const Rational& b);
  static Rational big_product(const Rational& a, const Rational& b);
  static int big_compare(const Rational& a, const Rational& b);
  Big big() const;
  void copy_big(const Rational& other);
  void free_big();

  // Both of at most 63 bits and without a common divisor. A denominator of 0 marks a number that does
  // not fit: the numerator is then a pointer to a Big.
  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 1;
};

/// The nearest double, for display.
double to_double(const Rational& value);
/// The nearest whole number, halves to the even one, and at most 2^63 - 1, of a value from 0.
std::int64_t nearest(const Rational& value);
/// `3` or `3/4`.
inline std::string to_string(const Rational& value) { return value.to_string(); }
/// `numerator / denominator`; the denominator is not 0.
inline Rational ratio(const Rational& numerator, const Rational& denominator) {
  return {numerator, denominator};
}

}  // namespace p2
