// Execution on numbers: real numbers in double precision, integers of their types.

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <unordered_map>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/interpreter.h"

namespace p2::kernel::xla {
namespace {

/// A real number is within `error` of a double; two of the same `computation` are one number.
Cell real(double value, double error = 0, std::uint64_t computation = 0) {
  return {error == 0 ? 0 : computation, 0, value, error, false};
}
/// At least as much as moves the double.
double error_of(const Cell& cell) {
  return cell.high == 0 ? 0 : std::max(cell.high, std::fabs(cell.low) * std::ldexp(1, -51));
}
/// Whether two doubles stand for one number.
bool are_one(const Cell& a, const Cell& b) {
  return a.low == b.low && a.high == b.high && a.value == b.value;
}
Cell whole(std::uint64_t value, const Type& type) {
  return {static_cast<std::uint64_t>(wrapped(value, type)), 0, 0, 0, false};
}

double rounded(double value, const Type& type) {
  if (type.digits == 24) return static_cast<double>(static_cast<float>(value));
  if (type.digits == 53 || value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double unit = std::ldexp(1, exponent - type.digits);
  return std::nearbyint(value / unit) * unit;
}

double real_operation(Op op, Cells x) {
  const double a = x[0].low;
  const double b = x.size() > 1 ? x[1].low : 0;
  switch (op) {
    case Op::Abs:
      return std::fabs(a);
    case Op::Add:
      return a + b;
    case Op::Atan2:
      return std::atan2(a, b);
    case Op::Cbrt:
      return std::cbrt(a);
    case Op::Ceil:
      return std::ceil(a);
    case Op::Cosine:
      return std::cos(a);
    case Op::Divide:
      return a / b;
    case Op::Erf:
      return std::erf(a);
    case Op::Exponential:
      return std::exp(a);
    case Op::ExponentialMinusOne:
      return std::expm1(a);
    case Op::Floor:
      return std::floor(a);
    case Op::Log:
      return std::log(a);
    case Op::LogPlusOne:
      return std::log1p(a);
    case Op::Logistic:
      return 1 / (1 + std::exp(-a));
    case Op::Maximum:
      return std::isnan(a) || a > b ? a : b;
    case Op::Minimum:
      return std::isnan(a) || a < b ? a : b;
    case Op::Multiply:
      return a * b;
    case Op::Negate:
      return -a;
    case Op::Power:
      return std::pow(a, b);
    case Op::ReducePrecision:
      return a;
    case Op::Remainder:
      return std::fmod(a, b);
    case Op::RoundAway:
      return std::round(a);
    case Op::RoundEven:
      return std::nearbyint(a);
    case Op::Rsqrt:
      return 1 / std::sqrt(a);
    case Op::Sign:
      return a > 0 ? 1 : a < 0 ? -1 : a;
    case Op::Sine:
      return std::sin(a);
    case Op::Sqrt:
      return std::sqrt(a);
    case Op::Subtract:
      return a - b;
    case Op::Tan:
      return std::tan(a);
    case Op::Tanh:
      return std::tanh(a);
    default:
      not_covered("an operation on real numbers");
  }
}

std::uint64_t integer_operation(Op op, const Type& type, std::uint64_t a, std::uint64_t b) {
  const bool is_signed = type.kind == Type::Kind::Signed;
  const auto sa = static_cast<std::int64_t>(a);
  const auto sb = static_cast<std::int64_t>(b);
  const auto bits = static_cast<std::uint64_t>(type.bits);
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const bool less = is_signed ? sa < sb : a < b;
  switch (op) {
    case Op::Abs:
      return is_signed && sa < 0 ? 0 - a : a;
    case Op::Add:
      return type.is_boolean() ? a | b : a + b;
    case Op::And:
      return a & b;
    case Op::CountLeadingZeros:
      return static_cast<std::uint64_t>(std::countl_zero(a & mask)) - (64 - bits);
    case Op::Divide:
      if (b == 0) return ~std::uint64_t{0};
      if (is_signed && sb == -1) return 0 - a;
      return is_signed ? static_cast<std::uint64_t>(sa / sb) : a / b;
    case Op::Maximum:
      return less ? b : a;
    case Op::Minimum:
      return less ? a : b;
    case Op::Multiply:
      return type.is_boolean() ? a & b : a * b;
    case Op::Negate:
      return 0 - a;
    case Op::Not:
      return type.is_boolean() ? a ^ 1U : ~a;
    case Op::Or:
      return a | b;
    case Op::Popcount:
      return static_cast<std::uint64_t>(std::popcount(a & mask));
    case Op::Power: {
      if (is_signed && sb < 0) return a == 1 ? 1 : sa == -1 ? ((b & 1U) != 0 ? a : 1) : 0;
      std::uint64_t result = 1;
      for (std::uint64_t base = a; b != 0; b >>= 1U, base *= base) {
        if ((b & 1U) != 0) result *= base;
      }
      return result;
    }
    case Op::Remainder:
      if (b == 0) return a;
      if (is_signed && sb == -1) return 0;
      return is_signed ? static_cast<std::uint64_t>(sa % sb) : a % b;
    case Op::ShiftLeft:
      return (b & mask) >= bits ? 0 : a << (b & mask);
    case Op::ShiftRightArithmetic: {
      const auto extended = static_cast<std::int64_t>(a << (64 - bits)) >> (64 - bits);
      return static_cast<std::uint64_t>(extended >> std::min<std::uint64_t>(b & mask, 63));
    }
    case Op::ShiftRightLogical:
      return (b & mask) >= bits ? 0 : (a & mask) >> (b & mask);
    case Op::Sign:
      return is_signed ? (sa > 0 ? 1 : sa < 0 ? ~std::uint64_t{0} : 0) : a != 0;
    case Op::Subtract:
      return a - b;
    case Op::Xor:
      return a ^ b;
    default:
      not_covered("an operation on integers");
  }
}

bool compared(Direction direction, auto a, auto b) {
  switch (direction) {
    case Direction::Eq:
      return a == b;
    case Direction::Ne:
      return a != b;
    case Direction::Lt:
      return a < b;
    case Direction::Le:
      return a <= b;
    case Direction::Gt:
      return a > b;
    default:
      return a >= b;
  }
}

Cell converted(const Cell& a, const Type& from, const Type& to) {
  if (from.is_float()) {
    if (to.is_float()) return a;
    if (to.is_boolean()) return whole(a.low != 0 ? 1 : 0, to);
    const bool is_signed = to.kind == Type::Kind::Signed;
    const double highest = std::ldexp(1, to.bits - (is_signed ? 1 : 0));
    const double lowest = is_signed ? -highest : 0;
    if (std::isnan(a.low)) return whole(0, to);
    if (a.low >= highest)
      return whole(is_signed ? (std::uint64_t{1} << (to.bits - 1)) - 1 : ~0ULL, to);
    if (a.low <= lowest) return whole(is_signed ? std::uint64_t{1} << (to.bits - 1) : 0, to);
    return whole(is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(a.low))
                           : static_cast<std::uint64_t>(a.low),
                 to);
  }
  if (to.is_float()) {
    const double number = from.kind == Type::Kind::Signed
                              ? static_cast<double>(static_cast<std::int64_t>(a.value))
                              : static_cast<double>(a.value);
    const bool is_rounded = std::fabs(number) >= std::ldexp(1, 53);
    return real(number, is_rounded ? std::ldexp(std::fabs(number), -53) : 0, a.value);
  }
  return whole(to.is_boolean() ? (a.value != 0 ? 1 : 0) : a.value, to);
}

/// Bits of f32 and integers of 32 bits, and between integers.
Cell reinterpreted(const Cell& a, const Type& from, const Type& to) {
  if (from == to) return a;
  if (from.is_integer() && to.is_integer() && from.bits == to.bits) return whole(a.value, to);
  if (from.name == "f32" && to.is_integer() && to.bits == 32)
    return whole(std::bit_cast<std::uint32_t>(static_cast<float>(a.low)), to);
  if (to.name == "f32" && from.is_integer() && from.bits == 32)
    return real(std::bit_cast<float>(static_cast<std::uint32_t>(a.value)));
  not_covered("bitcast-convert from " + std::string(from.name) + " to " + std::string(to.name));
}

/// Whether a result in double precision is that of real numbers, for operands that are.
bool is_exact(Op op, double a, double b, double result) {
  switch (op) {
    case Op::Add:
    case Op::Subtract: {
      const double other = op == Op::Add ? b : -b;
      return result - a == other && result - other == a;
    }
    case Op::Multiply:
      return std::fma(a, b, -result) == 0 && (result != 0 || a == 0 || b == 0);
    case Op::Divide:
      return std::fma(result, b, -a) == 0 && result != 0;
    case Op::Sqrt:
      return std::fma(result, result, -a) == 0;
    case Op::Abs:
    case Op::Ceil:
    case Op::Floor:
    case Op::Maximum:
    case Op::Minimum:
    case Op::Negate:
    case Op::ReducePrecision:
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

/// Whether a function has a pole where its operands are, exactly.
bool is_at_pole(Op op, Cells x) {
  const Cell& last = x[x.size() - 1];
  const double pole = op == Op::LogPlusOne ? -1 : 0;
  const bool has_pole =
      op == Op::Divide || op == Op::Log || op == Op::LogPlusOne || op == Op::Rsqrt;
  return has_pole && last.low == pole && error_of(last) == 0;
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
std::optional<Cell> real_with_error(Op op, Cells x) {
  if (takes_one(op) && are_one(x[0], x[1])) return x[0];
  const double value = real_operation(op, x);
  const bool are_finite =
      std::all_of(x.begin(), x.end(), [](const Cell& cell) { return std::isfinite(cell.low); });
  if (!are_finite) {
    const bool has_error =
        std::any_of(x.begin(), x.end(), [](const Cell& cell) { return error_of(cell) > 0; });
    if (takes_one(op) && !std::isnan(value)) return x[x[0].low == value ? 0 : 1];
    return has_error ? std::nullopt : std::optional(real(value));
  }
  if (std::isnan(value)) return std::nullopt;
  if (std::isinf(value)) return is_at_pole(op, x) ? std::optional(real(value)) : std::nullopt;
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
  if (!is_exact(op, x[0].low, x[x.size() - 1].low, value))
    error += std::fabs(value) * std::ldexp(1, -50) + std::numeric_limits<double>::min();
  if (error == 0) return real(value);
  if (takes_one(op) && error_of(x[0]) + error_of(x[1]) < std::fabs(x[0].low - x[1].low))
    return x[x[0].low == value ? 0 : 1];
  std::vector<std::pair<std::uint64_t, std::uint64_t>> computations;
  for (const Cell& each : x)
    computations.emplace_back(std::bit_cast<std::uint64_t>(each.low), each.value);
  if (op == Op::Add || op == Op::Multiply || takes_one(op))
    std::sort(computations.begin(), computations.end());
  Hash hash(static_cast<std::uint64_t>(op), 0);
  for (const auto& [number, computation] : computations) hash.add(number).add(computation);
  return real(value, error, hash.result());
}

/// Nothing where the errors of operands decide what a comparison or conversion makes.
std::optional<Cell> clear(const Elementwise& operation, Cells x) {
  const double error = error_of(x[0]);
  if (operation.op == Op::Compare) {
    const double both = error + error_of(x[1]);
    if (are_one(x[0], x[1])) return computed(operation, std::array{real(0), real(0)});
    if (both > 0 && std::fabs(x[0].low - x[1].low) <= both) return std::nullopt;
    return computed(operation, x);
  }
  const auto at = [&](double value) {
    const Cell moved[] = {real(value)};
    return computed(operation, moved).value;
  };
  if (error > 0 && (at(x[0].low - error) != at(x[0].low + error) ||
                    (operation.to.is_boolean() && std::fabs(x[0].low) <= error)))
    return std::nullopt;
  return computed(operation, x);
}

/// How inputs are drawn: magnitudes of real numbers, which signs, and integers from 0 on.
struct Draw {
  double low, high;
  int sign;  ///< 0: both
  std::uint64_t integers;
};
constexpr Draw kHow[kDraws] = {
    {0.25, 1.5, 0, 7}, {0.25, 1.5, -1, 7}, {0.5, 1.0, 1, 4}, {2, 12, 0, 7}};

class Numbers : public Arithmetic {
 public:
  Numbers(std::uint32_t draw, std::uint64_t seed) : draw_(kHow[draw]), seed_(seed) {}

  Cell input(std::span<const std::uint64_t> keys, const Type& type) override {
    Hash hash(seed_, 0);
    for (const std::uint64_t key : keys) hash.add(key);
    const std::uint64_t random = hash.result();
    if (type.is_boolean()) return whole(random & 1U, type);
    if (type.is_integer()) return whole(random % draw_.integers, type);
    if (!type.is_float()) not_covered("inputs of type " + std::string(type.name));
    const double part = static_cast<double>(random >> 12U) * std::ldexp(1, -52);
    const double size = draw_.low + (draw_.high - draw_.low) * part;
    const bool negative = draw_.sign < 0 || (draw_.sign == 0 && (random & 1U) != 0);
    return real(rounded(negative ? -size : size, type));
  }
  Cell literal(std::string_view text, const Type& type) override {
    if (type.is_float()) {
      const Fraction fraction = fraction_of(real_literal(text, type), type);
      return real_with_error(Op::Divide,
                             std::array{real(fraction.numerator), real(fraction.denominator)})
          .value_or(real(fraction.numerator));
    }
    if (type.is_boolean()) {
      const bool is_true = text == "true" || text == "1";
      if (!is_true && text != "false" && text != "0") malformed("not a truth value in a module");
      return whole(is_true ? 1 : 0, type);
    }
    if (!type.is_integer()) not_covered("constants of type " + std::string(type.name));
    const bool is_negative = text.starts_with('-');
    std::uint64_t size = 0;
    const auto [end, error] =
        std::from_chars(text.data() + (is_negative ? 1 : 0), text.data() + text.size(), size);
    if (error != std::errc() || end != text.data() + text.size())
      malformed("not a number in a module: " + printable(text));
    return whole(is_negative ? 0 - size : size, type);
  }
  Cell integer(std::int64_t value, const Type& type) override {
    if (type.is_float()) return real(static_cast<double>(value));
    return whole(static_cast<std::uint64_t>(value), type);
  }
  std::optional<std::int64_t> known(const Cell& cell, const Type& /*type*/) override {
    if (cell.nan) not_covered("an index or condition that is arbitrary");
    return static_cast<std::int64_t>(cell.value);
  }
  bool same(const Cell& a, const Cell& b, const Type& type) override {
    if (!type.is_float()) return a.value == b.value;
    return a.low == b.low || std::fabs(a.low - b.low) <= 1e-9 * std::fabs(a.low);
  }
  Cell apply(const Elementwise& operation, Cells operands) override {
    if (operation.op == Op::Select && !operands[0].nan)
      return operands[operands[0].value != 0 ? 1 : 2];
    bool arbitrary = false;
    for (const Cell& operand : operands) arbitrary = arbitrary || operand.nan;
    const bool is_other =
        operation.from.kind == Type::Kind::Other || operation.to.kind == Type::Kind::Other;
    if (arbitrary || is_other) return this->arbitrary(operation.to);
    const bool takes_any = operation.op == Op::Select || operation.op == Op::IsFinite;
    if (!operation.from.is_float() || takes_any) return computed(operation, operands);
    if (operation.op == Op::Clamp) {
      const Type& type = operation.from;
      const Cell low[] = {operands[1], operands[0]};
      const Cell high[] = {apply({Op::Maximum, type, type}, low), operands[2]};
      return apply({Op::Minimum, type, type}, high);
    }
    if (operation.op == Op::Convert && operation.to.is_float()) return operands[0];
    const bool is_conversion = operation.op == Op::Convert || operation.op == Op::BitcastConvert;
    const auto result = is_conversion || operation.op == Op::Compare
                            ? clear(operation, operands)
                            : real_with_error(operation.op, operands);
    return result ? *result : this->arbitrary(operation.to);
  }
  Cell arbitrary(const Type& type) override {
    Cell cell = type.is_float() ? real(1) : whole(1, type);
    cell.nan = true;
    return cell;
  }
  Cell function(std::string_view /*name*/, Cells /*operands*/, const Type& type) override {
    return arbitrary(type);
  }
  Cell choose(const Cell& index, const Type& index_type, Cells choices, const Type& type) override {
    const bool is_beyond = index_type.kind == Type::Kind::Unsigned && index.value >> 63U != 0;
    if (index.nan || is_beyond) return arbitrary(type);
    const auto place = std::clamp<std::int64_t>(static_cast<std::int64_t>(index.value), 0,
                                                static_cast<std::int64_t>(choices.size()) - 1);
    return choices[static_cast<std::size_t>(place)];
  }

 private:
  Draw draw_;
  std::uint64_t seed_;
};

}  // namespace

std::int64_t wrapped(std::uint64_t value, const Type& type) {
  if (type.bits >= 64) return static_cast<std::int64_t>(value);
  const auto unused = static_cast<unsigned>(64 - type.bits);
  if (type.kind == Type::Kind::Signed) return static_cast<std::int64_t>(value << unused) >> unused;
  return static_cast<std::int64_t>(value << unused >> unused);
}

Cell computed(const Elementwise& operation, Cells operands) {
  const Type& from = operation.from;
  const Cell& a = operands[0];
  switch (operation.op) {
    case Op::Compare: {
      const Cell& b = operands[1];
      const bool result = from.is_float() ? compared(operation.direction, a.low, b.low)
                          : from.kind == Type::Kind::Signed
                              ? compared(operation.direction, static_cast<std::int64_t>(a.value),
                                         static_cast<std::int64_t>(b.value))
                              : compared(operation.direction, a.value, b.value);
      return whole(result ? 1 : 0, operation.to);
    }
    case Op::Convert:
      return converted(a, from, operation.to);
    case Op::BitcastConvert:
      return reinterpreted(a, from, operation.to);
    case Op::IsFinite:
      return whole(std::isfinite(a.low) ? 1 : 0, operation.to);
    case Op::Select:
      return operands[a.value != 0 ? 1 : 2];
    case Op::Clamp: {
      const Cell low[] = {operands[1], operands[0]};
      const Cell high[] = {computed({Op::Maximum, from, from}, low), operands[2]};
      return computed({Op::Minimum, from, from}, high);
    }
    default:
      break;
  }
  if (from.is_float()) return real(real_operation(operation.op, operands));
  return whole(
      integer_operation(operation.op, from, a.value, operands.size() > 1 ? operands[1].value : 0),
      operation.to);
}

Fraction fraction_of(double value, const Type& type) {
  const double size = std::fabs(value);
  if (!std::isfinite(value) || type.digits == 0 || size > 1e6 || size < 1e-12) return {value, 1};
  int exponent = 0;
  std::frexp(size, &exponent);
  const double tolerance = std::ldexp(0.499, exponent - type.digits);
  // Convergents of the continued fraction.
  double p = std::floor(size);
  double q = 1;
  double last_p = 1;
  double last_q = 0;
  double rest = size - p;
  while (std::fabs(p / q - size) > tolerance) {
    if (rest < 1e-15) return {value, 1};
    const double digit = std::floor(1 / rest);
    rest = 1 / rest - digit;
    const double next_p = digit * p + last_p;
    const double next_q = digit * q + last_q;
    last_p = p;
    last_q = q;
    p = next_p;
    q = next_q;
    if (q > 1e7) return {value, 1};
  }
  if (rounded(p / q, type) != rounded(size, type)) return {value, 1};
  return {value < 0 ? -p : p, q};
}

double real_literal(std::string_view text, const Type& type) {
  const std::string copy(text);
  if (copy == "inf") return std::numeric_limits<double>::infinity();
  if (copy == "-inf") return -std::numeric_limits<double>::infinity();
  if (copy.find("nan") != std::string::npos) return std::numeric_limits<double>::quiet_NaN();
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0') malformed("not a number in a module: " + printable(text));
  return rounded(value, type);
}

std::unique_ptr<Arithmetic> make_numbers(std::uint32_t draw, std::uint64_t seed) {
  return std::make_unique<Numbers>(draw, seed);
}

std::optional<Op> op_called(const std::string& opcode) {
  static const std::unordered_map<std::string, Op> kOps = {
      {"abs", Op::Abs},
      {"add", Op::Add},
      {"and", Op::And},
      {"atan2", Op::Atan2},
      {"bitcast-convert", Op::BitcastConvert},
      {"cbrt", Op::Cbrt},
      {"ceil", Op::Ceil},
      {"clamp", Op::Clamp},
      {"compare", Op::Compare},
      {"convert", Op::Convert},
      {"cosine", Op::Cosine},
      {"count-leading-zeros", Op::CountLeadingZeros},
      {"divide", Op::Divide},
      {"erf", Op::Erf},
      {"exponential", Op::Exponential},
      {"exponential-minus-one", Op::ExponentialMinusOne},
      {"floor", Op::Floor},
      {"is-finite", Op::IsFinite},
      {"log", Op::Log},
      {"log-plus-one", Op::LogPlusOne},
      {"logistic", Op::Logistic},
      {"maximum", Op::Maximum},
      {"minimum", Op::Minimum},
      {"multiply", Op::Multiply},
      {"negate", Op::Negate},
      {"not", Op::Not},
      {"or", Op::Or},
      {"popcnt", Op::Popcount},
      {"power", Op::Power},
      {"reduce-precision", Op::ReducePrecision},
      {"remainder", Op::Remainder},
      {"round-nearest-afz", Op::RoundAway},
      {"round-nearest-even", Op::RoundEven},
      {"rsqrt", Op::Rsqrt},
      {"select", Op::Select},
      {"shift-left", Op::ShiftLeft},
      {"shift-right-arithmetic", Op::ShiftRightArithmetic},
      {"shift-right-logical", Op::ShiftRightLogical},
      {"sign", Op::Sign},
      {"sine", Op::Sine},
      {"sqrt", Op::Sqrt},
      {"subtract", Op::Subtract},
      {"tan", Op::Tan},
      {"tanh", Op::Tanh},
      {"xor", Op::Xor}};
  const auto found = kOps.find(opcode);
  return found == kOps.end() ? std::nullopt : std::optional<Op>(found->second);
}

Hash::Hash(std::uint64_t first, std::uint64_t second)
    : v_{first ^ 0x736f6d6570736575U, second ^ 0x646f72616e646f6dU, first ^ 0x6c7967656e657261U,
         second ^ 0x7465646279746573U} {}

void Hash::round() {
  v_[0] += v_[1], v_[2] += v_[3];
  v_[1] = std::rotl(v_[1], 13) ^ v_[0], v_[3] = std::rotl(v_[3], 16) ^ v_[2];
  v_[0] = std::rotl(v_[0], 32);
  v_[2] += v_[1], v_[0] += v_[3];
  v_[1] = std::rotl(v_[1], 17) ^ v_[2], v_[3] = std::rotl(v_[3], 21) ^ v_[0];
  v_[2] = std::rotl(v_[2], 32);
}

Hash& Hash::add(std::uint64_t value) {
  v_[3] ^= value;
  round();
  round();
  v_[0] ^= value;
  return *this;
}

Hash& Hash::add(std::string_view text) {
  add(text.size());
  for (const char c : text) add(static_cast<unsigned char>(c));
  return *this;
}

std::uint64_t Hash::result() const {
  Hash last = *this;
  last.v_[2] ^= 0xff;
  for (int i = 0; i < 4; ++i) last.round();
  return last.v_[0] ^ last.v_[1] ^ last.v_[2] ^ last.v_[3];
}

}  // namespace p2::kernel::xla
