#include "engine/base/rational.h"

#include <sstream>

#include <boost/multiprecision/cpp_int.hpp>

#include "engine/base/invariant.h"

namespace p2 {
namespace {

using Integer = boost::multiprecision::cpp_int;

}  // namespace

struct Rational::Big {
  boost::multiprecision::cpp_rational value;
};

namespace {

// Pointers have 64 bits or fewer.
template <typename Big>
const Big* pointer_in(std::int64_t numerator) {
  return reinterpret_cast<const Big*>(static_cast<std::intptr_t>(numerator));
}

template <typename Big>
std::int64_t numerator_with(const Big* pointer) {
  return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(pointer));
}

}  // namespace

Rational::Big Rational::big() const {
  if (is_big()) return *pointer_in<Big>(numerator_);
  return {{numerator_, denominator_}};
}

Rational Rational::from_big(const Big& value) {
  const Integer numerator = boost::multiprecision::numerator(value.value);
  const Integer denominator = boost::multiprecision::denominator(value.value);
  Rational result;
  if (abs(numerator) <= INT64_MAX && denominator <= INT64_MAX) {
    result.numerator_ = static_cast<std::int64_t>(numerator);
    result.denominator_ = static_cast<std::int64_t>(denominator);
  } else {
    result.numerator_ = numerator_with(new Big(value));
    result.denominator_ = 0;
  }
  return result;
}

Rational Rational::from_wide(Wide numerator, Wide denominator) {
  return from_big({{Integer(numerator), Integer(denominator)}});
}

Rational Rational::from_unsigned(std::uint64_t whole) { return from_big({Integer(whole)}); }

void Rational::copy_big(const Rational& other) {
  numerator_ = numerator_with(new Big(*pointer_in<Big>(other.numerator_)));
}

void Rational::free_big() { delete pointer_in<Big>(numerator_); }

Rational Rational::big_sum(const Rational& a, const Rational& b) {
  return from_big({a.big().value + b.big().value});
}

Rational Rational::big_product(const Rational& a, const Rational& b) {
  return from_big({a.big().value * b.big().value});
}

int Rational::big_compare(const Rational& a, const Rational& b) {
  return a.big().value.compare(b.big().value);
}

Rational Rational::operator-() const {
  if (is_big()) return from_big({-big().value});
  Rational result = *this;
  result.numerator_ = -numerator_;
  return result;
}

Rational Rational::inverse() const {
  invariant(numerator_ != 0, "division of a rational number by 0");
  if (is_big()) return from_big({1 / big().value});
  Rational result;
  result.numerator_ = numerator_ < 0 ? -denominator_ : denominator_;
  result.denominator_ = numerator_ < 0 ? -numerator_ : numerator_;
  return result;
}

Rational Rational::numerator() const {
  if (!is_big()) return numerator_;
  return from_big({boost::multiprecision::numerator(big().value)});
}

Rational Rational::denominator() const {
  if (!is_big()) return denominator_;
  return from_big({boost::multiprecision::denominator(big().value)});
}

bool Rational::is_whole() const { return denominator() == 1; }

Rational Rational::floor() const {
  const Big value = big();
  const Integer numerator = boost::multiprecision::numerator(value.value);
  const Integer denominator = boost::multiprecision::denominator(value.value);
  Integer whole = numerator / denominator;  // rounds towards 0
  if (numerator < 0 && whole * denominator != numerator) --whole;
  return from_big({whole});
}

std::int64_t Rational::to_int64() const {
  if (!is_big() && denominator_ == 1) return numerator_;
  throw LimitReached(LimitReached::Kind::Size, to_string() + " is not a whole number of 64 bits");
}

std::uint64_t Rational::to_uint64() const {
  const Big value = big();
  const Integer numerator = boost::multiprecision::numerator(value.value);
  if (!is_whole() || numerator < 0 || numerator > UINT64_MAX) {
    throw LimitReached(LimitReached::Kind::Size,
                       to_string() + " is not a natural number of 64 bits");
  }
  return static_cast<std::uint64_t>(numerator);
}

std::string Rational::to_string() const {
  std::ostringstream text;
  text << big().value;
  return text.str();
}

double to_double(const Rational& value) { return value.big().value.convert_to<double>(); }

std::int64_t nearest(const Rational& value) {
  const Rational below = value.floor();
  const Rational rest = value - below;
  const Rational half(1, 2);
  const bool up = rest > half || (rest == half && !(below * half).is_whole());
  const Rational whole = up ? below + 1 : below;
  return whole > INT64_MAX ? INT64_MAX : whole.to_int64();
}

}  // namespace p2
