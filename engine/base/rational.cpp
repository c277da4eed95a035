#include "engine/base/rational.h"

namespace p2 {

Rational ratio(const Integer& numerator, const Integer& denominator) {
  return {numerator, denominator};
}

std::int64_t nearest(const Rational& value) {
  const Integer denominator = boost::multiprecision::denominator(value);
  const Integer numerator = boost::multiprecision::numerator(value);
  const Integer twice = 2 * (numerator % denominator);
  Integer whole = numerator / denominator;
  if (twice > denominator || (twice == denominator && whole % 2 != 0)) ++whole;
  return whole > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(whole);
}

double to_double(const Rational& value) { return value.convert_to<double>(); }

}  // namespace p2
