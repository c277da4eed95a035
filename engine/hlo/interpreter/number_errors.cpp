// How far numbers computed in double precision may be from those without rounding: by the errors of
// the operands, however large, and by an operation's own. What is exact has no error, so that small
// integers and their steps are known.

#include "engine/hlo/interpreter/number_errors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace p2::hlo::interpreter {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Numbers with the same digits, of which at least these are known, and with the same error are
/// taken for one: the error says by what operands they were computed.
constexpr double kKnownDigits = 0x1p-40;
/// Results below are never taken for exact: their residuals by fma may underflow.
constexpr double kSmallest = 0x1p-900;

/// Whether a result is infinite as it is too large for a double, not at a pole.
bool overflows(Element code, double a, double b, double result) {
  if (!std::isinf(result) || std::isinf(a) || std::isinf(b)) return false;
  switch (code) {
    case Element::Add:
    case Element::Subtract:
    case Element::Multiply:
    case Element::Exponential:
    case Element::ExponentialMinusOne:
      return true;
    case Element::Divide:
      return b != 0;
    case Element::Power:
      return a != 0;
    default:
      return false;
  }
}

/// Whether a result is 0, or has few digits, as it is too small for a double.
bool underflows(Element code, double a, double b, double result) {
  if (std::fabs(result) >= std::numeric_limits<double>::min() || std::isinf(a)) return false;
  switch (code) {
    case Element::Multiply:
      return a != 0 && b != 0;
    case Element::Divide:
      return a != 0 && !std::isinf(b);
    case Element::Exponential:
    case Element::Logistic:
      return true;
    case Element::Power:
      return a != 0 && !std::isinf(b);
    default:
      return result != 0;
  }
}

/// Whether the result of an operation is not rounded.
bool is_exact(Element code, double a, double b, double result) {
  switch (code) {
    case Element::Add:
    case Element::Subtract: {
      const double second = code == Element::Add ? b : -b;
      const double part = result - a;
      return (a - (result - part)) + (second - part) == 0;  // Knuth's TwoSum
    }
    case Element::Multiply:
      return a == 0 || b == 0 || (std::fabs(result) > kSmallest && std::fma(a, b, -result) == 0);
    case Element::Divide:
      return a == 0 || (std::fabs(a) > kSmallest && std::fma(result, b, -a) == 0);
    case Element::Sqrt:
      return a == 0 || (a > kSmallest && std::fma(result, result, -a) == 0);
    case Element::Abs:
    case Element::Ceil:
    case Element::Floor:
    case Element::Maximum:
    case Element::Minimum:
    case Element::Negate:
    case Element::ReducePrecision:
    case Element::Remainder:
    case Element::RoundAway:
    case Element::RoundEven:
    case Element::Sign:
      return true;
    case Element::Cbrt:
    case Element::Log:
    case Element::Power:
    case Element::Rsqrt:
      return (a == 0 || a == 1) && (result == 0 || result == 1);
    default:  // e^0, sin 0
      return a == 0 && (result == 0 || result == 1);
  }
}

/// Whether a number may be 0, and is not known to be.
bool may_be_zero(const Scalar& x) { return x.error > 0 && std::fabs(x.real) <= x.error; }

/// Whether a function may have a pole, or end, within the errors of its operands; at 0 also if that
/// is exact, where the sign of the result is that of the zero, which real numbers do not have.
bool has_pole(Element code, const Scalar& x, const Scalar& y) {
  switch (code) {
    case Element::Multiply:
      return (std::isinf(x.real) && may_be_zero(y)) || (std::isinf(y.real) && may_be_zero(x));
    case Element::Divide:
      return (y.real == 0 && (x.real != 0 || x.error > 0)) || may_be_zero(y);
    case Element::Rsqrt:
      return x.real == 0 || may_be_zero(x);
    case Element::Log:
    case Element::Sqrt:
      return may_be_zero(x);
    case Element::LogPlusOne:
      return x.error > 0 && std::fabs(1 + x.real) <= x.error;
    case Element::Power:
      // 1 is the power of any number and 0, or of 1 and any number, also where that is none.
      return (x.real == 0 && y.real < 0) || may_be_zero(x) || (!(x.real >= 0) && y.error > 0) ||
             (!std::isfinite(y.real) && std::fabs(x.real - 1) <= x.error && x.error > 0);
    case Element::Atan2: {
      const double error = double{x.error} + y.error;
      return error > 0 && std::hypot(x.real, y.real) <= error;
    }
    case Element::Tan: {
      const double size = std::fabs(std::tan(x.real));
      return x.error > 0 && x.error * (1 + size) >= 0.25;
    }
    default:
      return false;
  }
}

/// How far the logarithm of `size` may be off, which is itself by less than that.
double logarithm_error(double size, double error) { return -std::log1p(-error / size); }

/// e^(x + error) − e^x.
double exponential_error(double x, double error) {
  const double growth = std::expm1(error);
  return std::isinf(growth) ? std::exp(x + error) : std::exp(x) * growth;
}

/// How far the result may be off by the errors of the operands, between poles and steps.
double passed_error(Element code, const Scalar& x, const Scalar& y, double result) {
  const double a = std::fabs(x.real);
  const double b = std::fabs(y.real);
  const double size = std::fabs(result);
  switch (code) {
    case Element::Abs:
    case Element::Negate:
    case Element::ReducePrecision:
      return x.error;
    case Element::Maximum:
    case Element::Minimum: {
      if (std::fabs(x.real - y.real) <= double{x.error} + y.error)
        return error_of_either(x, y, std::max(x.error, y.error));
      return result == x.real ? x.error : y.error;
    }
    case Element::Add:
    case Element::Subtract:
      return double{x.error} + y.error;
    case Element::Multiply:
      return a * y.error + (b + y.error) * x.error;
    case Element::Divide:
      return (x.error + size * y.error) / (b - y.error);
    case Element::Exponential:
    case Element::ExponentialMinusOne:
      return exponential_error(x.real, x.error);
    case Element::Log:
      return logarithm_error(a, x.error);
    case Element::LogPlusOne:
      return logarithm_error(std::fabs(1 + x.real), x.error);
    case Element::Sqrt:
      return x.error == 0 ? 0 : x.error / size;
    case Element::Rsqrt:
      return size * std::expm1(logarithm_error(a, x.error) / 2);
    case Element::Cbrt:  // beyond half of it |∛x − ∛y| ≤ 2 ∛|x − y|
      return x.error == 0      ? 0
             : x.error > a / 2 ? 2 * std::cbrt(x.error)
                               : 1.6 * x.error / (3 * size * size);
    case Element::Power: {  // x^y = e^(y log x)
      const double base = x.error == 0 ? 0 : logarithm_error(a, x.error);
      const double exponent = y.error == 0 ? 0 : y.error * (std::fabs(std::log(a)) + base);
      const double error = (base == 0 ? 0 : b * base) + exponent;
      return error == 0 ? 0 : exponential_error(y.real * std::log(a), error);
    }
    case Element::Atan2:
      return (x.error + y.error) / (std::hypot(a, b) - x.error - y.error);
    case Element::Tan:  // by the addition theorem, where e (1 + |tan x|) < 1/4
      return 4 * (1 + size * size) * x.error;
    case Element::Remainder:
      return x.error + std::fabs(std::trunc(x.real / y.real)) * y.error;
    case Element::Ceil:
    case Element::Floor:
    case Element::RoundAway:
    case Element::RoundEven:
    case Element::Sign:
      return 0;  // between steps
    default:     // the derivative is at most 2/√π
      return 1.2 * x.error;
  }
}

float error_of(Element code, const Scalar& x, const Scalar& y, double result) {
  // What is computed from what overflowed is any number, as x / ∞ = 0.
  if (std::isinf(x.error) || std::isinf(y.error) || has_pole(code, x, y) ||
      overflows(code, x.real, y.real, result))
    return std::numeric_limits<float>::infinity();
  if (!std::isfinite(result)) return 0;  // at a pole, of numbers that are exact or infinite
  double passed = passed_error(code, x, y, result);
  if (std::isnan(passed)) {
    const bool is_of_infinity = std::isinf(x.real) || std::isinf(y.real);
    passed = is_of_infinity ? 0 : kInfinity;  // else of 0 · ∞
  }
  const double own = is_exact(code, x.real, y.real, result)
                         ? 0
                         : kRounding * std::fabs(result) *
                               (1 + drawn_by(std::bit_cast<std::uint64_t>(x.real),
                                             std::bit_cast<std::uint64_t>(y.real)));
  const bool is_small = underflows(code, x.real, y.real, result);
  return rounded_bound(passed + own + (is_small ? std::numeric_limits<double>::min() : 0));
}

/// Whether `step` has different values at numbers that `value` may be.
template <typename Step>
bool has_step(double value, double error, const Step& step) {
  if (error == 0) return false;
  if (!std::isfinite(value) || !std::isfinite(error)) return true;
  const double low = std::min(value - error, std::nextafter(value, -kInfinity));
  const double high = std::max(value + error, std::nextafter(value, kInfinity));
  return step(low) != step(value) || step(high) != step(value);
}

/// Whether a function has a step within the errors of its operands.
bool has_step(Element code, const Scalar& x, const Scalar& y) {
  switch (code) {
    case Element::Ceil:
    case Element::Floor:
    case Element::RoundAway:
    case Element::RoundEven:
    case Element::Sign:
      return has_step(x.real, x.error, [&](double at) { return real_function(code, at, 0); });
    case Element::Remainder: {
      const double quotient = x.real / y.real;
      const double least = std::fabs(y.real) - y.error;
      const double error = (x.error + std::fabs(quotient) * y.error) / least;
      return (y.error > 0 && least <= 0) ||
             has_step(quotient, error, [](double at) { return std::trunc(at); });
    }
    case Element::Atan2:  // from −π to π, also between −0 and 0, which are one real number
      return y.real <= y.error && std::fabs(x.real) <= x.error;
    default:
      return false;
  }
}

}  // namespace

double real_function(Element code, double a, double b) {
  switch (code) {
    case Element::Abs:
      return std::fabs(a);
    case Element::Add:
      return a + b;
    case Element::Atan2:
      return std::atan2(a, b);
    case Element::Cbrt:
      return std::cbrt(a);
    case Element::Ceil:
      return std::ceil(a);
    case Element::Cosine:
      return std::cos(a);
    case Element::Divide:
      return a / b;
    case Element::Erf:
      return std::erf(a);
    case Element::Exponential:
      return std::exp(a);
    case Element::ExponentialMinusOne:
      return std::expm1(a);
    case Element::Floor:
      return std::floor(a);
    case Element::Log:
      return std::log(a);
    case Element::LogPlusOne:
      return std::log1p(a);
    case Element::Logistic:
      return 1 / (1 + std::exp(-a));
    case Element::Maximum:
      return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b);
    case Element::Minimum:
      return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b);
    case Element::Multiply:
      return a * b;
    case Element::Negate:
      return -a;
    case Element::Power:
      return std::pow(a, b);
    case Element::ReducePrecision:
      return a;
    case Element::Remainder:
      return std::fmod(a, b);
    case Element::RoundAway:
      return std::round(a);
    case Element::RoundEven:
      return std::nearbyint(a);
    case Element::Rsqrt:
      return 1 / std::sqrt(a);
    case Element::Sign:
      return std::isnan(a) ? NAN : a > 0 ? 1 : a < 0 ? -1 : a;
    case Element::Sine:
      return std::sin(a);
    case Element::Sqrt:
      return std::sqrt(a);
    case Element::Subtract:
      return a - b;
    case Element::Tan:
      return std::tan(a);
    case Element::Tanh:
      return std::tanh(a);
    default:
      return NAN;
  }
}

double drawn_by(std::uint64_t first, std::uint64_t second) {
  const std::uint64_t bits = first * 0x9E3779B97F4A7C15 + second * 0xD1B54A32D192ED03;
  return static_cast<double>((bits ^ (bits >> 29U)) * 0xBF58476D1CE4E5B9 >> 40U) * 0x1p-24;
}

float rounded_bound(double error) {
  if (std::isnan(error)) return std::numeric_limits<float>::infinity();
  const auto bound = static_cast<float>(error);
  return double{bound} < error ? std::nextafter(bound, std::numeric_limits<float>::infinity())
                               : bound;
}

bool are_one(const Scalar& a, const Scalar& b) {
  return a.real == b.real && a.error == b.error && a.error <= kKnownDigits * std::fabs(a.real);
}

double error_of_either(const Scalar& a, const Scalar& b, double error) {
  const auto identity = [](const Scalar& x) {
    return std::bit_cast<std::uint64_t>(x.real) + std::bit_cast<std::uint32_t>(x.error);
  };
  if (are_one(a, b)) return error;
  return error * (1 + 0x1p-10 * (1 + drawn_by(identity(a), identity(b))));
}

Scalar function_of_reals(Element code, const Scalar& x, const Scalar& y) {
  const double result = real_function(code, x.real, y.real);
  // Real numbers have no square root of −1.
  const bool is_none = std::isnan(result) && std::isfinite(x.real) && std::isfinite(y.real);
  return {result, 0, is_none || has_step(code, x, y), error_of(code, x, y, result)};
}

bool is_unclear(const ElementOperation& comparison, const Scalar& a, const Scalar& b) {
  // −0 and 0 are one real number.
  if (orders_totally(comparison) && a.real == 0 && b.real == 0) return true;
  const double error = double{a.error} + b.error;
  if (std::isinf(error)) return true;
  return !are_one(a, b) && error > 0 && std::fabs(a.real - b.real) <= error;
}

bool is_unclear_conversion(const ElementOperation& conversion, const Scalar& value) {
  const ElementType to = conversion.to;
  if (!conversion.from.is_float() || to.is_float()) return false;
  // −0 and 0 are one real number.
  if (conversion.code == Element::BitcastConvert) return value.error > 0 || value.real == 0;
  if (to.kind() == ElementType::Kind::Boolean) return may_be_zero(value);
  return has_step(value.real, value.error, [](double at) { return std::trunc(at); });
}

}  // namespace p2::hlo::interpreter
