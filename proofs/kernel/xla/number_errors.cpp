// What rounding may decide: real numbers in double precision, each with a bound of its error.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "proofs/kernel/xla/interpreter.h"

namespace p2::kernel::xla {
namespace {

Cell exact(double value) { return {0, 0, value, 0, false}; }
/// At least as much as moves the double.
double error_of(const Cell& cell) {
  return cell.high == 0 ? 0 : std::max(cell.high, std::fabs(cell.low) * std::ldexp(1, -51));
}
/// Whether two doubles stand for one number.
bool are_one(const Cell& a, const Cell& b) {
  return a.low == b.low && a.high == b.high && a.value == b.value;
}

bool is_normal(double number) { return std::fabs(number) > 1e-280; }

/// Whether a result in double precision is that of real numbers, for operands that are.
bool is_exact(Op op, double a, double b, double result) {
  switch (op) {
    case Op::Add:
    case Op::Subtract: {
      const double other = op == Op::Add ? b : -b;
      return result - a == other && result - other == a;
    }
    // What is too small has no remainder that is a double.
    case Op::Multiply:
      return std::fma(a, b, -result) == 0 && (is_normal(result) || a == 0 || b == 0);
    case Op::Divide:
      return std::fma(result, b, -a) == 0 && is_normal(result) && is_normal(a);
    case Op::Sqrt:
      return std::fma(result, result, -a) == 0 && (is_normal(a) || a == 0);
    case Op::Abs:
    case Op::Ceil:
    case Op::Floor:
    case Op::Maximum:
    case Op::Minimum:
    case Op::Negate:
    case Op::Remainder:
    case Op::RoundAway:
    case Op::RoundEven:
    case Op::Sign:
      return true;
    default:
      return false;
  }
}

/// Of two numbers that may be either way round the larger or smaller may be either.
bool takes_one(Op op) { return op == Op::Maximum || op == Op::Minimum; }

/// By what a number is computed: an operation, with `digits` to which it rounds, of these numbers.
std::uint64_t computation_of(Op op, int digits, Cells x) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> numbers;
  for (const Cell& each : x)
    numbers.emplace_back(std::bit_cast<std::uint64_t>(each.low), each.value);
  if (op == Op::Add || op == Op::Multiply || takes_one(op))
    std::sort(numbers.begin(), numbers.end());
  Hash hash(static_cast<std::uint64_t>(op), static_cast<std::uint64_t>(digits));
  for (const auto& [number, computation] : numbers) hash.add(number).add(computation);
  return hash.result();
}

/// Whether a function has a pole where its operand is, exactly. At others the sign of a zero, which
/// no real number has, decides.
bool is_at_pole(Op op, Cells x) {
  const double pole = op == Op::LogPlusOne ? -1 : 0;
  const bool has_pole = op == Op::Log || op == Op::LogPlusOne;
  return has_pole && x[0].low == pole && error_of(x[0]) == 0;
}

/// The error of a function that is not monotone, for those of its operands; nothing where a pole
/// or a step may be between them.
std::optional<double> error_of_periodic(Op op, Cells x) {
  const double error = error_of(x[0]);
  if (op == Op::Sine || op == Op::Cosine) return std::min(error, 2.0);
  const bool is_tan = op == Op::Tan;
  const double period = is_tan ? std::numbers::pi : x[1].low;
  const auto turn = [&](double at, double of) {
    return is_tan ? std::round(at / of) : std::trunc(at / of);
  };
  const double own = is_tan ? 0 : error_of(x[1]);
  if (std::fabs(period) <= own) return std::nullopt;
  const double turns = turn(x[0].low, period);
  const bool has_error = error > 0 || own > 0;
  if (has_error && std::fabs(turns) > 1e6) return std::nullopt;
  for (const double a : {x[0].low - error, x[0].low + error}) {
    for (const double b : {period - own, period + own}) {
      if (turn(a, b) != turns || (has_error && std::fabs(a / b - std::round(a / b)) < 1e-9))
        return std::nullopt;
    }
  }
  if (!is_tan) return error + std::fabs(turns) * own;
  const double value = std::tan(x[0].low);
  return std::max(std::fabs(std::tan(x[0].low - error) - value),
                  std::fabs(std::tan(x[0].low + error) - value));
}

/// With the errors of operands and of double precision. Nothing where these decide what the result
/// is, at a step or pole, where it is too large for a double, and where real numbers have none.
std::optional<Cell> real_with_error(Op op, const Type& type, Cells x) {
  if (takes_one(op) && are_one(x[0], x[1])) return x[0];
  const double value = real_operation(op, x);
  const bool are_finite =
      std::all_of(x.begin(), x.end(), [](const Cell& cell) { return std::isfinite(cell.low); });
  if (!are_finite) {
    const bool has_error =
        std::any_of(x.begin(), x.end(), [](const Cell& cell) { return error_of(cell) > 0; });
    if (takes_one(op) && !std::isnan(value)) return x[x[0].low == value ? 0 : 1];
    if (has_error) return std::nullopt;
    const double error = std::isfinite(value) && value != std::floor(value)
                             ? std::fabs(value) * std::ldexp(1, 1 - type.digits)
                             : 0;
    return error == 0 ? exact(value) : inexact(value, error, 0);
  }
  if (std::isfinite(value) && std::fabs(value) > largest(type)) return std::nullopt;
  const bool is_by_sign = op == Op::Atan2 && x[0].low == 0 && x[1].low <= 0;
  if (std::isnan(value) || is_by_sign) return std::nullopt;
  if (std::isinf(value)) return is_at_pole(op, x) ? std::optional(exact(value)) : std::nullopt;
  // The errors of operands make the largest difference at a corner, or twice that at most.
  double spread = 0;
  const bool is_periodic =
      op == Op::Cosine || op == Op::Remainder || op == Op::Sine || op == Op::Tan;
  if (is_periodic) {
    const auto error = error_of_periodic(op, x);
    if (!error) return std::nullopt;
    spread = *error;
  }
  for (unsigned corner = 0; corner < 1U << x.size() && !is_periodic; ++corner) {
    Cell moved[] = {x[0], x[x.size() - 1]};
    for (std::size_t k = 0; k < x.size(); ++k)
      moved[k].low += (corner >> k & 1U) != 0 ? error_of(x[k]) : -error_of(x[k]);
    const double there = real_operation(op, Cells(moved, x.size()));
    if (!std::isfinite(there) && there != value) return std::nullopt;
    if (there != value) spread = std::max(spread, std::fabs(there - value));
  }
  const auto may_be_zero = [](const Cell& cell) {
    return error_of(cell) > 0 && std::fabs(cell.low) <= error_of(cell);
  };
  const bool is_pole =
      (op == Op::Divide && may_be_zero(x[1])) || (op == Op::Power && may_be_zero(x[0]));
  const bool is_step = op == Op::Ceil || op == Op::Floor || op == Op::RoundAway ||
                       op == Op::RoundEven || op == Op::Sign;
  if (is_pole || (is_step && spread != 0)) return std::nullopt;
  const bool is_monotone = op != Op::Atan2 && op != Op::Power;  // in every operand, or a bound
  double error = takes_one(op) ? spread : spread * (is_monotone ? 1 + std::ldexp(1, -40) : 2);
  // A function of constants may be a constant that is rounded to its type.
  const bool is_function =
      op != Op::Add && op != Op::Subtract && op != Op::Multiply && op != Op::Divide;
  if (!is_exact(op, x[0].low, x[x.size() - 1].low, value))
    error += std::fabs(value) * std::ldexp(1, op == Op::ReducePrecision ? -2
                                              : is_function             ? 1 - type.digits
                                                                        : -50) +
             std::numeric_limits<double>::min();
  if (error == 0) return exact(value);
  if (takes_one(op) && error_of(x[0]) + error_of(x[1]) < std::fabs(x[0].low - x[1].low))
    return x[x[0].low == value ? 0 : 1];
  return inexact(value, error, computation_of(op, 0, x));
}

/// Nothing where the errors of operands decide what a comparison or conversion makes.
std::optional<Cell> clear(const Elementwise& operation, Cells x) {
  const double error = error_of(x[0]);
  if (operation.op == Op::Compare) {
    const double both = error + error_of(x[1]);
    if (are_one(x[0], x[1])) return computed(operation, std::array{exact(0), exact(0)});
    if (both > 0 && std::fabs(x[0].low - x[1].low) <= both) return std::nullopt;
    return computed(operation, x);
  }
  const auto at = [&](double value) {
    const Cell moved[] = {exact(value)};
    return computed(operation, moved).value;
  };
  if (operation.op == Op::BitcastConvert && x[0].low == 0) return std::nullopt;  // of any sign
  if (error > 0 && (at(x[0].low - error) != at(x[0].low + error) ||
                    (operation.to.is_boolean() && std::fabs(x[0].low) <= error)))
    return std::nullopt;
  return computed(operation, x);
}

}  // namespace

Cell inexact(double value, double error, std::uint64_t computation) {
  return {computation, 0, value, error, false};
}

std::optional<Cell> computed_with_errors(const Elementwise& operation, Cells operands) {
  const Op op = operation.op;
  if (!operation.from.is_float() || op == Op::Select || op == Op::IsFinite)
    return computed(operation, operands);
  if (op == Op::Clamp) {
    const Cell low[] = {operands[1], operands[0]};
    const auto above = real_with_error(Op::Maximum, operation.to, low);
    if (!above) return std::nullopt;
    const Cell high[] = {*above, operands[2]};
    return real_with_error(Op::Minimum, operation.to, high);
  }
  if (op == Op::Convert && operation.to.is_float()) {
    const Cell& x = operands[0];
    if (!std::isfinite(x.low) || rounded(x.low, operation.to) == x.low) return x;
    if (std::fabs(x.low) > largest(operation.to)) return std::nullopt;
    const double error = std::fabs(x.low) * std::ldexp(1, -operation.to.digits);
    return inexact(x.low, error_of(x) + error, computation_of(op, operation.to.digits, operands));
  }
  const bool is_conversion = op == Op::Convert || op == Op::BitcastConvert;
  return is_conversion || op == Op::Compare ? clear(operation, operands)
                                            : real_with_error(op, operation.to, operands);
}

}  // namespace p2::kernel::xla
