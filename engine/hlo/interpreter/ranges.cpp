// Arithmetic on ranges of numbers. What is monotone is computed at their ends.

#include "engine/hlo/interpreter/ranges.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "engine/hlo/number.h"
#include "p2/limits.h"

namespace p2::hlo::interpreter {
namespace {

/// Ends of ranges are rounded by no more of themselves.
constexpr double kRoundedEnds = 1e-9;
/// Results are disturbed by so much of themselves, 2^9 times as much as they are rounded.
constexpr double kNoise = 0x1p-44;
/// A number that is so many times farther from a step than it was disturbed is on its side of it.
constexpr double kNear = 100;
/// What is disturbed by no more, of itself or in all, is far from what rounding alone makes.
constexpr double kSteady = 1e-6;
/// What is smaller may be rounded to zero.
constexpr double kUnderflow = 1e-290;
/// A range of numbers that are no larger, relative to a point, is less than what adding them is
/// disturbed by.
constexpr double kAbsorbed = 0x1p-50;

NumberRange unknown(ElementType type) {
  const Scalar any = type.is_float() ? Scalar{1, 0, true} : Scalar{0, 1, true};
  return {any, any};
}

bool is_arbitrary(const NumberRange& range) { return range.low.arbitrary || range.high.arbitrary; }

/// The range of some numbers, and of what they may be rounded to; unknown where one of them is not
/// finite.
NumberRange hull(std::initializer_list<Scalar> all, ElementType type) {
  NumberRange result(*all.begin(), *all.begin());
  for (const Scalar& each : all) {
    if (each.arbitrary || !std::isfinite(each.real)) return unknown(type);
    if (type.is_float()) {
      if (each.real < result.low.real) result.low = each;
      if (each.real > result.high.real) result.high = each;
    } else {
      if (each.integer < result.low.integer) result.low = each;
      if (each.integer > result.high.integer) result.high = each;
    }
  }
  result.low.error = result.high.error = 0;
  if (type.is_float()) {
    result.low.real -= kNoise * std::fabs(result.low.real);
    result.high.real += kNoise * std::fabs(result.high.real);
  }
  return result;
}

/// A point and what it may be disturbed to, as a range: what is true need not lie between the point
/// and what one disturbance made of it.
NumberRange spread(const NumberRange& point) {
  if (!point.is_point || point.shadow == point.low.real || point.low.arbitrary) return point;
  Scalar low = point.low;
  Scalar high = point.low;
  const double margin = kNear * std::fabs(point.low.real - point.shadow);
  low.real = point.low.real - margin;
  high.real = point.low.real + margin;
  return {low, high};
}

/// The range of products or quotients of `a` and `b`, which are not zero where they may have
/// underflowed, with their signs.
NumberRange beyond_underflow(NumberRange result, const NumberRange& a, const NumberRange& b) {
  if (is_arbitrary(result)) return result;
  const bool are_positive =
      (a.low.real >= 0 && b.low.real >= 0) || (a.high.real <= 0 && b.high.real <= 0);
  const bool are_negative =
      (a.low.real >= 0 && b.high.real <= 0) || (a.high.real <= 0 && b.low.real >= 0);
  double& low = result.low.real;
  double& high = result.high.real;
  if (std::fabs(low) < kUnderflow && !are_positive) low = -kUnderflow;
  if (std::fabs(high) < kUnderflow && !are_negative) high = kUnderflow;
  return result;
}

/// The larger magnitude of the ends of a range.
double magnitude(const NumberRange& range) {
  return std::max(std::fabs(range.low.real), std::fabs(range.high.real));
}

/// Whether a range changes a point by less than rounding may.
bool is_absorbed(double range, double point, double shadow) {
  return range <= kAbsorbed * std::min(std::fabs(point), std::fabs(shadow));
}

/// Whether the point is the larger of both, or with `largest` false the smaller, wherever in the
/// range a number is.
bool is_beyond(const NumberRange& point, const NumberRange& range, bool largest) {
  const double margin = kNear * std::fabs(point.low.real - point.shadow);
  return largest ? point.low.real - margin > range.high.real
                 : point.low.real + margin < range.low.real;
}

bool is_exact_zero(const NumberRange& range, ElementType type) {
  if (!range.is_point || range.low.arbitrary) return false;
  return type.is_float() ? range.low.real == 0 && range.shadow == 0 : range.low.integer == 0;
}

/// Whether a function is monotone where it is defined, from `least` on.
struct Monotone {
  bool is_known = false;
  double least = -std::numeric_limits<double>::infinity();
  bool excludes_least = false;
};

Monotone monotone(Element code) {
  switch (code) {
    case Element::Negate:
    case Element::Exponential:
    case Element::ExponentialMinusOne:
    case Element::Logistic:
    case Element::Tanh:
    case Element::Cbrt:
    case Element::Erf:
      return {true};
    case Element::Log:
    case Element::Rsqrt:
      return {true, 0, true};
    case Element::Sqrt:
      return {true, 0};
    case Element::LogPlusOne:
      return {true, -1, true};
    default:
      return {};
  }
}

bool fits(Wide value, ElementType type) {
  if (type.kind() == ElementType::Kind::Boolean) return value == 0 || value == 1;
  const bool is_signed = type.kind() == ElementType::Kind::Signed;
  const unsigned bits = std::min(type.bits(), 63U);
  const Wide high = (Wide{1} << (bits - (is_signed ? 1 : 0))) - 1;
  return value <= high && value >= (is_signed ? -high - 1 : 0);
}

/// Whether a result is one of the operands, or exact, and so is not rounded.
bool is_exact(Element code) {
  return code == Element::Select || code == Element::Maximum || code == Element::Minimum ||
         code == Element::Negate || code == Element::Abs || code == Element::Clamp ||
         code == Element::Convert || code == Element::IsFinite;
}

/// Whether a number is hardly farther from another one than rounding may move it.
bool is_near(double distance, double disturbed) {
  return !(std::fabs(distance) > kNear * std::fabs(distance - disturbed)) && distance != disturbed;
}

bool is_infinite(const NumberRange& point) {
  return std::isinf(point.low.real) && point.shadow == point.low.real;
}

/// Whether rounding alone may decide what an argument is where a function hides it: at a pole, or
/// where it hardly changes.
bool hides_rounding(Element code, std::span<const NumberRange> operands) {
  const auto moved = [](const NumberRange& x) {
    return x.low.real == x.shadow ? 0.0 : std::fabs(x.low.real - x.shadow);
  };
  const auto is_rounding = [&](const NumberRange& x) {
    return moved(x) > kSteady * std::fabs(x.low.real);
  };
  switch (code) {
    case Element::Exponential:
    case Element::ExponentialMinusOne:
    case Element::LogPlusOne:
    case Element::Logistic:
    case Element::Tanh:
    case Element::Erf:
      return is_rounding(operands[0]) && moved(operands[0]) > kSteady;
    case Element::Sine:
    case Element::Cosine:
    case Element::Tan:
      return moved(operands[0]) > kSteady;
    case Element::Divide:
      return is_rounding(operands[1]);
    case Element::Maximum:
    case Element::Minimum: {  // which of both is taken is known where they are far apart
      const double distance = std::fabs(operands[0].low.real - operands[1].low.real);
      const bool is_clear = distance * kSteady > moved(operands[0]) + moved(operands[1]);
      return !is_clear && std::ranges::any_of(operands, is_rounding);
    }
    case Element::Clamp:
    case Element::Atan2:
    case Element::IsFinite:
    case Element::Log:
    case Element::Power:
    case Element::Rsqrt:
    case Element::Sqrt:
    case Element::Cbrt:
      return std::ranges::any_of(operands, is_rounding);
    default:
      return false;
  }
}

/// Whether a result of finite operands overflows, or of any is no number.
bool overflows(std::span<const NumberRange> operands, double result, double shadow) {
  if (std::isnan(result) || std::isnan(shadow)) return true;
  return (!std::isfinite(result) || !std::isfinite(shadow)) &&
         std::ranges::none_of(operands, is_infinite);
}

/// Whether a result is not zero for real numbers, but so small that it may be rounded to zero.
bool underflows(Element code, std::span<const NumberRange> operands, double result, double shadow) {
  if (!(std::fabs(result) < kUnderflow) && !(std::fabs(shadow) < kUnderflow)) return false;
  const auto is_zero = [](const NumberRange& x) { return x.low.real == 0 && x.shadow == 0; };
  const bool has_infinite = std::ranges::any_of(operands, is_infinite);
  switch (code) {
    case Element::Exponential:
    case Element::Logistic:
      return !has_infinite;
    case Element::Multiply:
      return !is_zero(operands[0]) && !is_zero(operands[1]);
    case Element::Atan2:
    case Element::Divide:
    case Element::Power:
      return !is_zero(operands[0]) && !has_infinite;
    default:
      return false;
  }
}

/// Whether a function has steps where its argument may be.
bool is_at_step(const ElementOperation& operation, std::span<const NumberRange> operands) {
  const NumberRange& x = operands[0];
  // A zero has no sign.
  if (operation.code == Element::Atan2 && x.low.real == 0 && operands[1].low.real <= 0) return true;
  if (x.shadow == x.low.real &&
      (operands.size() == 1 || operands[1].shadow == operands[1].low.real))
    return false;
  switch (operation.code) {
    case Element::Sign:
    case Element::Atan2:
      return is_near(x.low.real, x.shadow);
    case Element::Convert:
      if (operation.to.kind() == ElementType::Kind::Boolean) return is_near(x.low.real, x.shadow);
      if (operation.to.is_float()) return false;
      [[fallthrough]];
    case Element::Floor:
    case Element::Ceil:
      return is_near(x.low.real - std::nearbyint(x.low.real),
                     x.shadow - std::nearbyint(x.low.real));
    case Element::RoundAway:
    case Element::RoundEven: {
      const double half = std::floor(x.low.real) + 0.5;
      return is_near(x.low.real - half, x.shadow - half);
    }
    case Element::Remainder:
    case Element::BitcastConvert:
    case Element::ReducePrecision:
      return true;
    default:
      return false;
  }
}

}  // namespace

NumberRange Ranges::range(std::int64_t first, std::int64_t last, ElementType type) const {
  if (!type.is_float() && (!fits(first, type) || !fits(last, type))) return unknown(type);
  return {numbers_.integer(first, type), numbers_.integer(last, type)};
}

std::optional<std::int64_t> Ranges::as_integer(const Cell& cell, ElementType type) const {
  if (!cell.is_point || cell.low.arbitrary) {
    throw LimitReached(LimitReached::Kind::Work,
                       "what is executed depends on an element of a block whose elements differ");
  }
  return numbers_.as_integer(cell.low, type);
}

/// A number from −1 to 1 (splitmix64).
double Ranges::drawn() const {
  state_ += 0x9E3779B97F4A7C15;
  std::uint64_t bits = state_;
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EB;
  bits ^= bits >> 31U;
  return static_cast<double>(bits >> 11U) * 0x1p-52 - 1;
}

/// Disturbed results show rounding; that is not seen where they happen not to be disturbed, which
/// further runs make unlikely.
NumberRange Ranges::of_points(const ElementOperation& operation,
                              std::span<const Cell> operands) const {
  Scalar points[3];
  Scalar shadows[3];
  for (std::size_t i = 0; i < operands.size(); ++i) {
    points[i] = shadows[i] = operands[i].low;
    shadows[i].real = operands[i].shadow;
  }
  const std::size_t count = operands.size();
  Scalar result = numbers_.apply(operation, std::span(points, count));
  result.error = 0;
  if (operation.from.is_float() && operation.code == Element::Compare) {
    const double distance = points[0].real - points[1].real;
    const double disturbed = shadows[0].real - shadows[1].real;
    result.arbitrary = result.arbitrary || is_near(distance, disturbed);
    return result;
  }
  const bool is_hidden =
      is_at_step(operation, operands) || hides_rounding(operation.code, operands);
  if (operation.from.is_float() && is_hidden) return unknown(operation.to);
  if (!operation.to.is_float()) return result;
  double shadow = numbers_.apply(operation, std::span(shadows, count)).real;
  // Integers beyond 2^53 are rounded.
  const bool is_long = operation.code == Element::Convert && !operation.from.is_float() &&
                       std::fabs(result.real) > 0x1p53;
  if (!is_exact(operation.code) || is_long) shadow *= 1 + kNoise * drawn();
  if (overflows(operands, result.real, shadow)) return unknown(operation.to);
  // As a number that is disturbed by more than it is.
  if (underflows(operation.code, operands, result.real, shadow) &&
      !(std::fabs(shadow - result.real) > kUnderflow)) {
    shadow = result.real + kUnderflow;
  }
  // A zero has no sign, which depends on how it was made.
  result.real += 0.0;
  return {result, shadow + 0.0};
}

NumberRange Ranges::constant(const LiteralElement& element, ElementType type) const {
  const Scalar number = numbers_.constant(element, type);
  if (!type.is_float() || !std::isfinite(number.real)) return number;
  const std::string_view name = type.name();
  const int digits = name == "f64"    ? 53
                     : name == "f32"  ? 24
                     : name == "f16"  ? 11
                     : name == "bf16" ? 8
                                      : 3;
  // A number of few digits, or a whole one, is seldom a rounded one; of a narrow type all but
  // powers of 2 may be.
  const bool is_whole =
      digits > 11 && std::fabs(number.real) <= 0x1p16 && number.real == std::floor(number.real);
  if (is_whole) return number;
  int exponent = 0;
  const double mantissa = std::frexp(number.real, &exponent);
  const double scaled = std::ldexp(mantissa, digits > 11 ? 8 : 1);
  if (scaled == std::floor(scaled)) return number;
  return {number, number.real * (1 + std::ldexp(drawn(), 1 - digits))};
}

NumberRange Ranges::apply(const ElementOperation& operation, std::span<const Cell> operands) const {
  if (operation.code == Element::Select && operands[0].is_point) {
    if (!operands[0].low.arbitrary) return operands[operands[0].low.integer != 0 ? 1 : 2];
    return equal(operands[1], operands[2], operation.to) && !is_arbitrary(operands[2])
               ? operands[1]
               : unknown(operation.to);
  }
  if (std::ranges::all_of(operands, [](const Cell& each) { return each.is_point; })) {
    return of_points(operation, operands);
  }
  if (std::ranges::any_of(operands, is_arbitrary)) return unknown(operation.to);
  if (const auto point = of_point_and_range(operation, operands)) return *point;
  Cell ranges[3];
  for (std::size_t i = 0; i < operands.size(); ++i) ranges[i] = spread(operands[i]);
  return of_ranges(operation, std::span(ranges, operands.size()));
}

/// The sum of a point and a range that it absorbs, and the maximum or minimum of a point and a
/// range that it is beyond.
std::optional<NumberRange> Ranges::of_point_and_range(const ElementOperation& operation,
                                                      std::span<const Cell> operands) const {
  if (operands.size() != 2 || operands[0].is_point == operands[1].is_point) return std::nullopt;
  if (!operation.to.is_float()) return std::nullopt;
  const bool is_first = operands[0].is_point;
  const Cell& point = operands[is_first ? 0 : 1];
  const Cell& range = operands[is_first ? 1 : 0];
  switch (operation.code) {
    case Element::Add:
    case Element::Subtract: {
      if (!is_absorbed(magnitude(range), point.low.real, point.shadow)) return std::nullopt;
      const Cell zero = Scalar{};
      const Cell both[] = {is_first ? point : zero, is_first ? zero : point};
      return of_points(operation, both);
    }
    case Element::Maximum:
    case Element::Minimum: {
      if (!is_beyond(point, range, operation.code == Element::Maximum)) return std::nullopt;
      const Cell both[] = {point, point};
      return of_points(operation, both);
    }
    default:
      return std::nullopt;
  }
}

NumberRange Ranges::compared(const ElementOperation& operation, const Cell& a,
                             const Cell& b) const {
  const ElementType from = operation.from;
  // Numbers that differ by rounding alone may be in any order.
  const auto number = [&](const Scalar& each, int side) {
    return from.is_float() ? each.real + side * kRoundedEnds * std::fabs(each.real)
                           : static_cast<double>(each.integer);
  };
  constexpr double kExact = 9007199254740992.0;
  const double al = number(a.low, -1);
  const double ah = number(a.high, 1);
  const double bl = number(b.low, -1);
  const double bh = number(b.high, 1);
  for (const double each : {al, ah, bl, bh}) {
    if (!(std::fabs(each) < kExact) && !from.is_float()) return unknown(operation.to);
    if (each < 0 && from.kind() == ElementType::Kind::Unsigned) return unknown(operation.to);
  }
  std::optional<bool> known;
  switch (operation.direction) {
    case Direction::Eq:
    case Direction::Ne:
      if (ah < bl || bh < al) known = operation.direction == Direction::Ne;
      break;
    case Direction::Lt:
      if (ah < bl) known = true;
      if (al >= bh) known = false;
      break;
    case Direction::Le:
      if (ah <= bl) known = true;
      if (al > bh) known = false;
      break;
    case Direction::Gt:
      if (al > bh) known = true;
      if (ah <= bl) known = false;
      break;
    case Direction::Ge:
      if (al >= bh) known = true;
      if (ah < bl) known = false;
      break;
  }
  if (known) return Scalar{0, *known ? 1 : 0};
  return {Scalar{0, 0}, Scalar{0, 1}};
}

NumberRange Ranges::of_ranges(const ElementOperation& operation,
                              std::span<const Cell> operands) const {
  const ElementType to = operation.to;
  const Cell& a = operands[0];
  const Cell& b = operands.size() > 1 ? operands[1] : operands[0];
  const auto corner = [&](const Scalar& x, const Scalar& y) {
    const Scalar both[] = {x, y};
    return numbers_.apply(operation, std::span(both, operands.size()));
  };
  const auto at_corners = [&] {
    return hull({corner(a.low, b.low), corner(a.low, b.high), corner(a.high, b.low),
                 corner(a.high, b.high)},
                to);
  };
  switch (operation.code) {
    case Element::Select:  // the condition is not known
      return hull({b.low, b.high, operands[2].low, operands[2].high}, to);
    case Element::Compare:
      if (orders_totally(operation)) return unknown(to);
      return compared(operation, a, b);
    case Element::Convert: {
      const bool rounds = operation.from.is_float() && !to.is_float();
      if (rounds) return unknown(to);
      if (operation.from.kind() == ElementType::Kind::Unsigned &&
          (a.low.integer < 0 || a.high.integer < 0)) {
        return unknown(to);
      }
      if (!to.is_float() && (!fits(a.low.integer, to) || !fits(a.high.integer, to))) {
        return unknown(to);
      }
      if (to.kind() == ElementType::Kind::Boolean) return unknown(to);
      return hull({corner(a.low, a.low), corner(a.high, a.high)}, to);
    }
    case Element::Clamp: {
      const ElementOperation most{Element::Minimum, {}, to, to, {}};
      const ElementOperation least{Element::Maximum, {}, to, to, {}};
      const Cell low[] = {operands[0], operands[1]};
      const Cell high[] = {apply(least, low), operands[2]};
      return apply(most, high);
    }
    case Element::Maximum:
    case Element::Minimum:
      if (!to.is_float() && to.kind() == ElementType::Kind::Unsigned && to.bits() > 32) {
        return unknown(to);
      }
      return at_corners();
    default:
      break;
  }
  if (to.kind() == ElementType::Kind::Boolean) {
    const bool is_logical = operation.code == Element::And || operation.code == Element::Or ||
                            operation.code == Element::Not || operation.code == Element::Xor;
    return is_logical ? at_corners() : unknown(to);
  }
  if (!to.is_float()) {
    const bool wraps = operation.code == Element::Add || operation.code == Element::Subtract ||
                       operation.code == Element::Multiply || operation.code == Element::Negate;
    if (!wraps) return unknown(to);
    for (const Scalar* x : {&a.low, &a.high}) {
      for (const Scalar* y : {&b.low, &b.high}) {
        const Wide left = x->integer;
        const Wide right = y->integer;
        const Wide exact = operation.code == Element::Add        ? left + right
                           : operation.code == Element::Subtract ? left - right
                           : operation.code == Element::Negate   ? -left
                                                                 : left * right;
        if (!fits(left, to) || !fits(right, to) || !fits(exact, to)) return unknown(to);
      }
    }
    return at_corners();
  }
  switch (operation.code) {
    case Element::Multiply:
      if (is_exact_zero(a, to) || is_exact_zero(b, to)) return Scalar{};  // ranges are finite
      return beyond_underflow(at_corners(), a, b);
    case Element::Add:
    case Element::Subtract:
      return at_corners();
    case Element::Divide: {
      const double margin = kRoundedEnds * (b.high.real - b.low.real);
      const bool excludes_zero = b.low.real > margin || b.high.real < -margin;
      if (!excludes_zero) return unknown(to);
      if (is_exact_zero(a, to)) return Scalar{};
      return beyond_underflow(at_corners(), a, b);
    }
    case Element::Power: {  // of a number above zero: monotone in either
      const double margin = kRoundedEnds * (a.high.real - a.low.real);
      if (!(a.low.real > margin)) return unknown(to);
      const Cell one = Scalar{1};
      return beyond_underflow(at_corners(), one, one);
    }
    case Element::Sine:
    case Element::Cosine:
      return {Scalar{-1}, Scalar{1}};
    default:
      break;
  }
  const Monotone known = monotone(operation.code);
  if (!known.is_known || operands.size() != 1) return unknown(to);
  const double margin = kRoundedEnds * (a.high.real - a.low.real);
  const double least = a.low.real - (known.excludes_least ? margin : 0);
  if (known.excludes_least ? !(least > known.least) : !(least >= known.least)) return unknown(to);
  const Cell result = hull({corner(a.low, a.low), corner(a.high, a.high)}, to);
  const bool may_underflow =
      operation.code == Element::Exponential || operation.code == Element::Logistic;
  const Cell one = Scalar{1};
  return may_underflow ? beyond_underflow(result, one, one) : result;
}

void Ranges::add_product(Accumulator& sum, const Cell& a, const Cell& b, ElementType type) const {
  if (a.is_point && b.is_point) {
    numbers_.add_product(sum.points, a.low, b.low, type);
    sum.shadow += a.shadow * b.shadow;
    return;
  }
  if (is_arbitrary(a) || is_arbitrary(b) || !type.is_float()) {
    sum.arbitrary = true;
    return;
  }
  if (is_exact_zero(a, type) || is_exact_zero(b, type)) return;
  const ElementOperation multiply{Element::Multiply, {}, type, type, {}};
  const Cell both[] = {a, b};
  const Cell product = apply(multiply, both);
  if (is_arbitrary(product)) {
    sum.arbitrary = true;
    return;
  }
  sum.low += product.low.real;
  sum.high += product.high.real;
  ++sum.terms;
}

NumberRange Ranges::result(const Accumulator& sum, ElementType type) const {
  if (sum.arbitrary) return unknown(type);
  Scalar points = numbers_.result(sum.points, type);
  points.error = 0;
  if (!type.is_float()) return points;
  const double small = sum.points.underflows ? kUnderflow : 0;
  if (sum.terms == 0) {
    double shadow = sum.shadow + kNoise * drawn() * sum.points.size;
    if (!(std::fabs(shadow - points.real) > small)) shadow = points.real + small;
    if (!std::isfinite(points.real) || !std::isfinite(shadow)) return unknown(type);
    points.real += 0.0;
    return {points, shadow};
  }
  if (!std::isfinite(points.real) || !std::isfinite(sum.shadow)) return unknown(type);
  if (is_absorbed(std::max(std::fabs(sum.low), std::fabs(sum.high)), points.real, sum.shadow)) {
    return {points, sum.shadow + kNoise * drawn() * sum.points.size};
  }
  // What points add up to is rounded by as much as its largest term.
  const double margin =
      kNear * (std::fabs(points.real - sum.shadow) + small) + kNoise * sum.points.size;
  Scalar low = points;
  Scalar high = points;
  low.real += sum.low - margin;
  high.real += sum.high + margin;
  return hull({low, high}, type);
}

void Ranges::add_products(std::span<Accumulator> sums, std::span<const Cell> row,
                          const Columns* columns, ElementType type) const {
  for (std::size_t j = 0; j < sums.size(); ++j) {
    for (std::size_t k = 0; k < row.size(); ++k) {
      add_product(sums[j], row[k], columns[k].cells[j], type);
    }
  }
}

}  // namespace p2::hlo::interpreter
