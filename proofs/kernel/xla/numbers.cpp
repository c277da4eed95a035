// Execution on numbers: real numbers in double precision, integers of their types.

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <unordered_map>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/interpreter.h"

namespace p2::kernel::xla {
namespace {

Cell real(double value) { return {0, 0, value, 0, false}; }
Cell whole(std::uint64_t value, const Type& type) {
  return {static_cast<std::uint64_t>(wrapped(value, type)), 0, 0, 0, false};
}

/// The distance of numbers of the type about a value, which is not zero.
double unit_at(double value, const Type& type) {
  const int least = type.digits == 53   ? -1074
                    : type.digits == 24 ? -149
                    : type.digits == 11 ? -24
                                        : -133;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1, std::max(exponent - type.digits, least));
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
    // What is rounded to its type is an integer no longer.
    const bool is_rounded = std::fabs(number) >= std::ldexp(1, 53) || rounded(number, to) != number;
    const int digits = std::min(to.digits, 53);
    return is_rounded ? inexact(number, std::ldexp(std::fabs(number), -digits), a.value)
                      : real(number);
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

/// How inputs are drawn: magnitudes of real numbers, which signs, and integers from 0 on.
struct Draw {
  double low, high;
  int sign;                ///< 0: both
  std::uint64_t integers;  ///< below; 0: of all magnitudes below 2^13
};
constexpr Draw kHow[kDraws] = {
    {0.25, 1.5, 0, 7}, {0.25, 1.5, -1, 7}, {0.5, 1.0, 1, 4}, {2, 12, 0, 7}, {0.25, 1.5, 0, 0}};

class Numbers : public Arithmetic {
 public:
  Numbers(std::uint32_t draw, std::uint64_t seed, bool draws_memory)
      : draw_(kHow[draw]), seed_(seed), draws_memory_(draws_memory) {}

  Cell input(std::span<const std::uint64_t> keys, const Type& type) override {
    Hash hash(seed_, 0);
    for (const std::uint64_t key : keys) hash.add(key);
    const std::uint64_t random = hash.result();
    if (type.is_boolean()) return whole(random & 1U, type);
    if (type.is_integer() && draw_.integers == 0)
      return whole((random >> 20U) & (0x1FFFU >> random % 13), type);
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
      const Cell parts[] = {real(fraction.numerator), real(fraction.denominator)};
      return computed_with_errors({Op::Divide, type, type}, parts)
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
    const bool is_signed = type.kind == Type::Kind::Signed;
    const std::uint64_t most = ~std::uint64_t{0} >> (64 - type.bits + (is_signed ? 1 : 0));
    if (size > most + (is_signed && is_negative ? 1 : 0) || (is_negative && !is_signed && size > 0))
      malformed("not a number of its type in a module: " + printable(text));
    return whole(is_negative ? 0 - size : size, type);
  }
  Cell integer(std::int64_t value, const Type& type) override {
    if (type.is_float())
      return converted(whole(static_cast<std::uint64_t>(value), type_called("s64")),
                       type_called("s64"), type);
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
    const auto result = computed_with_errors(operation, operands);
    return result ? *result : this->arbitrary(operation.to);
  }
  Cell arbitrary(const Type& type) override {
    Cell cell = type.is_float() ? real(1) : whole(1, type);
    cell.nan = true;
    return cell;
  }
  Cell unwritten(const Type& type) override {
    const std::uint64_t keys[] = {~std::uint64_t{0}, unwritten_++};
    return draws_memory_ ? input(keys, type) : arbitrary(type);
  }
  Cell function(std::string_view /*name*/, Cells /*operands*/, const Type& type) override {
    return arbitrary(type);
  }
  Cell choose(const Cell& index, const Type& index_type, Cells choices, const Type& type) override {
    if (index.nan) return arbitrary(type);
    const auto place = start_of(static_cast<std::int64_t>(index.value), index_type,
                                static_cast<std::int64_t>(choices.size()) - 1);
    return place ? choices[static_cast<std::size_t>(*place)] : arbitrary(type);
  }

 private:
  Draw draw_;
  std::uint64_t seed_;
  bool draws_memory_;
  std::uint64_t unwritten_ = 0;
};

}  // namespace

std::int64_t wrapped(std::uint64_t value, const Type& type) {
  if (type.bits <= 0 || type.bits >= 64) return static_cast<std::int64_t>(value);
  const auto unused = static_cast<unsigned>(64 - type.bits);
  if (type.kind == Type::Kind::Signed) return static_cast<std::int64_t>(value << unused) >> unused;
  return static_cast<std::int64_t>(value << unused >> unused);
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

double rounded(double value, const Type& type) {
  if (type.digits == 53) return value;
  value = static_cast<double>(static_cast<float>(value));
  if (type.digits == 24 || value == 0 || !std::isfinite(value)) return value;
  const double unit = unit_at(value, type);
  const double result = std::nearbyint(value / unit) * unit;
  const double end = std::ldexp(1, type.digits == 11 ? 16 : 128);
  return std::fabs(result) < end ? result : std::copysign(INFINITY, value);
}

Fraction fraction_of(double value, const Type& type) {
  const double size = std::fabs(value);
  if (!std::isfinite(value) || type.digits == 0 || size > 1e6 || size < 1e-12) return {value, 1};
  const double tolerance = 0.499 * unit_at(size, type);
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

void state_exactly(const std::vector<Module*>& modules) {
  const auto is_narrow = [](const Instruction& each) { return each.shape.type.digits < 24; };
  const auto visit = [&](bool narrow, bool wide, const auto& use) {
    for (Module* const module : modules) {
      for (auto& [name, computation] : module->computations) {
        for (Instruction& each : computation.instructions) {
          const bool is_known = each.opcode == "constant" && each.shape.type.is_float() &&
                                each.text.find("...") == std::string::npos;
          if (!is_known || !(is_narrow(each) ? narrow : wide)) continue;
          std::vector<double> values;
          for (const std::string_view element : elements_of(each.text))
            values.push_back(real_literal(element, each.shape.type));
          use(each, values);
        }
      }
    }
  };
  const auto add_magnitudes = [](const std::vector<double>& values, std::set<double>& to) {
    for (const double value : values) {
      if (std::isfinite(value)) to.insert(std::fabs(value));
    }
  };
  std::set<double> narrow;  // magnitudes, as those below
  std::set<double> stated;
  visit(true, false, [&](const Instruction&, const std::vector<double>& values) {
    add_magnitudes(values, narrow);
  });
  if (narrow.empty()) return;
  visit(false, true, [&](const Instruction&, const std::vector<double>& values) {
    for (const double value : values) {
      // Whole numbers and halves are what they are in any type.
      const bool is_half = !std::isfinite(value) || 2 * value == std::floor(2 * value);
      if (!is_half && narrow.contains(std::fabs(value))) stated.insert(std::fabs(value));
    }
  });
  if (stated.empty()) return;
  const auto is_stated = [&](double value) {
    return std::isfinite(value) && stated.contains(std::fabs(value));
  };
  // A number that is listed beside an exact one is exact wherever it stands.
  for (std::size_t before = 0; before != stated.size();) {
    before = stated.size();
    visit(false, true, [&](const Instruction&, const std::vector<double>& values) {
      if (std::any_of(values.begin(), values.end(), is_stated)) add_magnitudes(values, stated);
    });
  }
  const auto text_of = [](double value) -> std::string {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return Json(value).dump();
  };
  visit(true, true, [&](Instruction& each, const std::vector<double>& values) {
    if (!is_narrow(each) && std::none_of(values.begin(), values.end(), is_stated)) return;
    std::string text;
    for (const double value : values) text += (text.empty() ? "" : ", ") + text_of(value);
    each.text = each.shape.sizes.empty() ? text : "{" + text + "}";
    each.is_exact = true;
  });
}

double real_literal(std::string_view text, const Type& type) {
  const std::string copy(text);
  if (copy == "inf") return std::numeric_limits<double>::infinity();
  if (copy == "-inf") return -std::numeric_limits<double>::infinity();
  const std::string_view size = std::string_view(copy).substr(copy.starts_with('-') ? 1 : 0);
  if (size == "nan" || (size.starts_with("nan(") && size.ends_with(')')))
    return std::numeric_limits<double>::quiet_NaN();
  char* end = nullptr;
  const double value = rounded(std::strtod(copy.c_str(), &end), type);
  const bool is_decimal = size.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
                          !size.empty() && size[0] >= '0' && size[0] <= '9';
  if (!is_decimal || *end != '\0' || !std::isfinite(value))
    malformed("not a number of its type in a module: " + printable(text));
  return value;
}

std::unique_ptr<Arithmetic> make_numbers(std::uint32_t draw, std::uint64_t seed,
                                         bool draws_memory) {
  return std::make_unique<Numbers>(draw, seed, draws_memory);
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
