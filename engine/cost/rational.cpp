#include "engine/cost/rational.h"

namespace p2 {

Rational ratio(const Integer& numerator, const Integer& denominator) {
  return {numerator, denominator};
}

double to_double(const Rational& value) { return value.convert_to<double>(); }

}  // namespace p2
