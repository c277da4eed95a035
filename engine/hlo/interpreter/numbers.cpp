// XLA's operations on concrete elements (https://openxla.org/xla/operation_semantics).

#include "engine/hlo/interpreter/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "engine/hlo/interpreter/number_errors.h"

namespace p2::hlo::interpreter {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr Scalar kArbitrary = {1, 1, true};

// Marks of a factor of a product.
constexpr std::uint64_t kIsArbitrary = 1;
constexpr std::uint64_t kHasFraction = 2;
constexpr std::uint64_t kEveryColumn = 0x0101010101010101;  // a mark for each of the columns
static_assert(Numbers::kColumns == 8);

std::uint64_t marks_of(const Scalar& factor) {
  return (factor.arbitrary ? kIsArbitrary : 0) |
         (Numbers::has_fraction(factor.real) ? kHasFraction : 0);
}

std::int64_t low_bits(std::uint64_t value, unsigned bits) {
  return static_cast<std::int64_t>(bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1));
}

/// The bits of a value, without sign.
std::uint64_t bits_of(std::int64_t value, ElementType type) {
  return static_cast<std::uint64_t>(low_bits(static_cast<std::uint64_t>(value), type.bits()));
}

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value)
                   : static_cast<std::uint64_t>(value);
}

/// Division as XLA defines it: x / 0 = -1 and x % 0 = x; INT_MIN / -1 = INT_MIN.
std::uint64_t divided(std::int64_t a, std::int64_t b, ElementType type, bool remainder) {
  if (type.kind() == ElementType::Kind::Unsigned) {
    const std::uint64_t x = bits_of(a, type);
    const std::uint64_t y = bits_of(b, type);
    if (y == 0) return remainder ? x : ~std::uint64_t{0};
    return remainder ? x % y : x / y;
  }
  if (b == 0) return static_cast<std::uint64_t>(remainder ? a : -1);
  const std::uint64_t size = remainder ? magnitude(a) % magnitude(b) : magnitude(a) / magnitude(b);
  const bool negative = remainder ? a < 0 : (a < 0) != (b < 0);
  return negative ? std::uint64_t{0} - size : size;
}

std::uint64_t power(std::int64_t base, std::int64_t exponent, ElementType type) {
  const bool negative = type.kind() == ElementType::Kind::Signed && exponent < 0;
  if (negative) {
    if (base == 1) return 1;
    if (base == -1) return (exponent & 1) != 0 ? ~std::uint64_t{0} : 1;
    return base == 0 ? ~std::uint64_t{0} : 0;
  }
  std::uint64_t result = 1;
  std::uint64_t factor = static_cast<std::uint64_t>(base);
  for (std::uint64_t rest = bits_of(exponent, type); rest != 0; rest >>= 1U, factor *= factor) {
    if ((rest & 1U) != 0) result *= factor;
  }
  return result;
}

/// The bits of an integer as a signed one of as many bits, also where the type is unsigned.
std::int64_t sign_extended(std::int64_t value, ElementType type) {
  const unsigned above = 64 - type.bits();
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << above) >> above;
}

std::uint64_t integer_function(Element code, std::int64_t a, std::int64_t b, ElementType type) {
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  const std::uint64_t shift = bits_of(b, type);
  const bool beyond = shift >= type.bits();
  const bool is_unsigned = type.kind() == ElementType::Kind::Unsigned;
  const bool less = is_unsigned ? x < y : a < b;
  switch (code) {
    case Element::Abs:
      return is_unsigned ? x : magnitude(a);
    case Element::Add:
      return x + y;
    case Element::And:
      return x & y;
    case Element::CountLeadingZeros:
      return static_cast<std::uint64_t>(std::countl_zero(bits_of(a, type))) - (64 - type.bits());
    case Element::Divide:
      return divided(a, b, type, false);
    case Element::Maximum:
      return less ? y : x;
    case Element::Minimum:
      return less ? x : y;
    case Element::Multiply:
      return x * y;
    case Element::MultiplyHigh:
      return static_cast<std::uint64_t>(
          is_unsigned ? (static_cast<WideUnsigned>(x) * y) >> type.bits()
                      : static_cast<WideUnsigned>(static_cast<Wide>(a) * b) >> type.bits());
    case Element::Negate:
      return std::uint64_t{0} - x;
    case Element::Not:
      return type.kind() == ElementType::Kind::Boolean ? x ^ 1U : ~x;
    case Element::Or:
      return x | y;
    case Element::PopulationCount:
      return static_cast<std::uint64_t>(std::popcount(bits_of(a, type)));
    case Element::Power:
      return power(a, b, type);
    case Element::Remainder:
      return divided(a, b, type, true);
    case Element::ShiftLeft:
      return beyond ? 0 : x << shift;
    case Element::ShiftRightArithmetic:
      return static_cast<std::uint64_t>(sign_extended(a, type) >>
                                        std::min<std::uint64_t>(shift, 63));
    case Element::ShiftRightLogical:
      return beyond ? 0 : bits_of(a, type) >> shift;
    case Element::Sign:
      return static_cast<std::uint64_t>(is_unsigned ? (x != 0 ? 1 : 0) : (a > 0) - (a < 0));
    case Element::Subtract:
      return x - y;
    case Element::Xor:
      return x ^ y;
    default:
      return 0;
  }
}

/// In the order of these numbers -NaN comes first, -0 before 0, and NaN last.
std::int64_t total_order(double value) {
  const auto bits = std::bit_cast<std::int64_t>(value);
  return bits < 0 ? bits ^ std::numeric_limits<std::int64_t>::max() : bits;
}

bool compared(const ElementOperation& operation, const Scalar& a, const Scalar& b) {
  if (operation.from.is_float() && orders_totally(operation)) {
    return holds(operation.direction, total_order(a.real), total_order(b.real));
  }
  if (operation.from.is_float()) return holds(operation.direction, a.real, b.real);
  if (operation.from.kind() == ElementType::Kind::Signed) {
    return holds(operation.direction, a.integer, b.integer);
  }
  return holds(operation.direction, static_cast<std::uint64_t>(a.integer),
               static_cast<std::uint64_t>(b.integer));
}

/// Truncates; out of range to the nearest, NaN to 0, as XLA's CPU backend does.
std::int64_t truncated(double value, ElementType type) {
  if (std::isnan(value)) return 0;
  const bool is_signed = type.kind() == ElementType::Kind::Signed;
  const double high = std::ldexp(1.0, static_cast<int>(type.bits()) - (is_signed ? 1 : 0));
  if (value >= high) {
    const std::uint64_t ones = ~std::uint64_t{0};
    return wrapped(is_signed ? ones >> (64 - type.bits() + 1) : ones, type);
  }
  if (is_signed && value <= -high) return wrapped(std::uint64_t{1} << (type.bits() - 1), type);
  if (!is_signed && value <= 0) return 0;
  return wrapped(is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                           : static_cast<std::uint64_t>(value),
                 type);
}

Scalar converted(const Scalar& value, ElementType from, ElementType to) {
  if (to.is_float()) {
    if (from.is_float()) return value;
    const bool is_signed = from.kind() == ElementType::Kind::Signed;
    const double real = is_signed ? static_cast<double>(value.integer)
                                  : static_cast<double>(static_cast<std::uint64_t>(value.integer));
    const double rounding = std::fabs(rounded_constant(real, to) - real);
    const double error = std::fabs(real) > 0x1p53 ? kRounding * std::fabs(real) : 0;
    return {real, 0, false,
            rounded_bound((std::isfinite(rounding) ? std::max(rounding, error) : error) *
                          (1 + drawn_by(static_cast<std::uint64_t>(value.integer), 0)))};
  }
  if (to.kind() == ElementType::Kind::Boolean) {
    return {0, from.is_float() ? value.real != 0 : value.integer != 0};
  }
  if (from.is_float()) return {0, truncated(value.real, to)};
  return {0, wrapped(static_cast<std::uint64_t>(value.integer), to)};
}

/// The bits of a number, and back; those of other types than f64, f32 and bf16 are arbitrary, and
/// of what is no number of the type, as it is not rounded to it.
Scalar bits_converted(const Scalar& value, ElementType from, ElementType to) {
  if (from.is_float() == to.is_float()) {
    if (from.is_float()) return from == to ? value : kArbitrary;
    return {0, wrapped(static_cast<std::uint64_t>(value.integer), to)};
  }
  if (from.is_float()) {
    if (from.bits() < 32 && from.name() != "bf16") return kArbitrary;
    if (from.bits() == 64) return {0, wrapped(std::bit_cast<std::uint64_t>(value.real), to)};
    const auto single = static_cast<float>(value.real);
    const auto narrow = std::bit_cast<std::uint32_t>(single);
    if (double{single} != value.real && !std::isnan(value.real)) return kArbitrary;
    if (from.bits() < 32 && (narrow & 0xFFFFU) != 0) return kArbitrary;
    return {0, wrapped(from.bits() == 32 ? narrow : narrow >> 16U, to)};
  }
  const std::uint64_t bits = bits_of(value.integer, from);
  if (to.name() == "f64") return {std::bit_cast<double>(bits), 0};
  if (to.name() == "f32") return {std::bit_cast<float>(static_cast<std::uint32_t>(bits)), 0};
  if (to.name() == "bf16")
    return {std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16U)), 0};
  return kArbitrary;
}

/// One of two elements, whichever.
Scalar either(const Scalar& a, const Scalar& b, ElementType type) {
  Scalar result = a;
  result.arbitrary = a.arbitrary || b.arbitrary || (!type.is_float() && a.integer != b.integer);
  const double distance = a.real == b.real ? 0 : std::fabs(a.real - b.real);
  if (type.is_float() && std::isnan(distance)) result.arbitrary = true;
  const double error = std::max(double{a.error}, b.error + distance * (1 + 0x1p-50));
  result.error = rounded_bound(error_of_either(a, b, error));
  return result;
}

}  // namespace

std::int64_t wrapped(std::uint64_t value, ElementType type) {
  if (type.kind() == ElementType::Kind::Boolean) return value != 0 ? 1 : 0;
  const unsigned bits = type.bits();
  if (bits >= 64 || bits == 0) return static_cast<std::int64_t>(value);
  std::int64_t rest = low_bits(value, bits);
  if (type.kind() == ElementType::Kind::Signed && (rest >> (bits - 1)) != 0) {
    rest -= std::int64_t{1} << bits;
  }
  return rest;
}

double real_constant(const LiteralElement& element) {
  if (element.text.empty()) return element.number.to_double();
  const char* const text = element.text.c_str();
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  return end == text ? kNaN : value;
}

double rounded_constant(double value, ElementType type) {
  const bool is_narrow = type.name() == "f16" || type.name() == "bf16";
  return rounded_float(is_narrow ? static_cast<double>(static_cast<float>(value)) : value, type);
}

double rounded_float(double value, ElementType type) {
  const std::string_view name = type.name();
  if (name == "f32") return static_cast<double>(static_cast<float>(value));
  if ((name != "bf16" && name != "f16") || !std::isfinite(value) || value == 0) return value;
  const int digits = name == "bf16" ? 8 : 11;
  const int least_exponent = name == "bf16" ? -125 : -13;  // of a normal number in [1/2, 1)
  const int largest_exponent = name == "bf16" ? 128 : 16;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int last = std::max(exponent, least_exponent) - digits;  // the exponent of the last bit
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
  const bool overflows = std::fabs(rounded) >= std::ldexp(1.0, largest_exponent);
  return overflows ? std::copysign(INFINITY, value) : rounded;
}

Fraction fraction_of(double value, ElementType type) {
  value = rounded_constant(value, type);
  const std::string_view name = type.name();
  const int digits = name == "f64"    ? 53
                     : name == "f32"  ? 24
                     : name == "f16"  ? 11
                     : name == "bf16" ? 8
                                      : 0;
  const double size = std::fabs(value);
  if (!std::isfinite(value) || digits == 0 || size > 1e6 || size < 1e-12) return {value, 1};
  int exponent = 0;
  std::frexp(size, &exponent);
  const int last = std::max(exponent - digits, name == "f16" ? -24 : -133);
  const double tolerance = std::ldexp(0.499, last);
  double p0 = 1;
  double q0 = 0;
  double p1 = std::floor(size);
  double q1 = 1;
  double rest = size - p1;
  while (std::fabs(p1 / q1 - size) > tolerance) {
    if (rest < 1e-15 || q1 > 1e7) return {value, 1};
    const double digit = std::floor(1 / rest);
    rest = 1 / rest - digit;
    const double p2 = digit * p1 + p0;
    const double q2 = digit * q1 + q0;
    p0 = p1, q0 = q1, p1 = p2, q1 = q2;
  }
  if (rounded_constant(p1 / q1, type) != size) return {value, 1};
  return {value < 0 ? -p1 : p1, q1};
}

Scalar Numbers::constant(const LiteralElement& element, ElementType type) const {
  if (type.is_complex()) return kArbitrary;
  if (type.is_float()) {
    const Fraction fraction = fraction_of(real_constant(element), type);
    return function_of_reals(Element::Divide, {fraction.numerator}, {fraction.denominator});
  }
  if (element.text.empty()) {
    return {0, wrapped(static_cast<std::uint64_t>(element.number.numerator), type)};
  }
  const bool negative = element.text.front() == '-';
  const char* const text = element.text.c_str();
  return {0, wrapped(negative ? static_cast<std::uint64_t>(std::strtoll(text, nullptr, 0))
                              : std::strtoull(text, nullptr, 0),
                     type)};
}

Scalar Numbers::integer(std::int64_t value, ElementType type) const {
  if (type.is_float()) {
    const Scalar operand[] = {{0, value}};
    return apply({Element::Convert, {}, *ElementType::from_xla("s64"), type, {}}, operand);
  }
  return {0, wrapped(static_cast<std::uint64_t>(value), type)};
}

Scalar Numbers::arbitrary(std::uint64_t /*key*/, ElementType type) const {
  return type.is_float() ? Scalar{1, 0, true} : Scalar{0, 1, true};
}

void Numbers::Columns::set(std::size_t column, const Cell& cell) {
  const double magnitude = std::fabs(cell.real);
  real[column] = cell.real;
  error[column] = cell.error;
  reach[column] = magnitude + cell.error;
  integer[column] = cell.integer;
  const std::uint64_t all = std::uint64_t{0xff} << 8 * column;
  marks = (marks & ~all) | (marks_of(cell) * kEveryColumn & all);
  if (magnitude != 0) least = std::min(least, magnitude);
}

void Numbers::add_products(std::span<Accumulator> sums, std::span<const Cell> row,
                           const Columns* columns, ElementType type) const {
  if (!type.is_float()) {
    for (const Cell& a : row) {
      for (std::size_t j = 0; j < sums.size(); ++j) {
        const auto b = static_cast<std::uint64_t>(columns->integer[j]);
        sums[j].integer += static_cast<std::uint64_t>(a.integer) * b;
        sums[j].arbitrary |= a.arbitrary || (columns->marks >> 8 * j & kIsArbitrary) != 0;
      }
      ++columns;
    }
    return;
  }
  double real[kColumns] = {};
  double size[kColumns] = {};
  double error[kColumns] = {};
  std::uint64_t bits[kColumns] = {};
  bool underflows[kColumns] = {};
  std::uint64_t marks = 0;
  for (const Cell& a : row) {
    const double magnitude = std::fabs(a.real);
    const double own = a.error;
    for (std::size_t j = 0; j < kColumns; ++j) {
      const double product = a.real * columns->real[j];
      real[j] += product;
      size[j] += std::fabs(product);
      bits[j] += std::bit_cast<std::uint64_t>(product);
      error[j] += magnitude * columns->error[j] + columns->reach[j] * own;
    }
    marks |= columns->marks | marks_of(a) * kEveryColumn;
    if (magnitude * columns->least < std::numeric_limits<double>::min() && magnitude != 0) {
      for (std::size_t j = 0; j < kColumns; ++j) {
        const double b = columns->real[j];
        underflows[j] |= b != 0 && std::fabs(a.real * b) < std::numeric_limits<double>::min();
      }
    }
    ++columns;
  }
  for (std::size_t j = 0; j < sums.size(); ++j) {
    sums[j].real += real[j];
    sums[j].size += size[j];
    sums[j].error += error[j];
    sums[j].arbitrary |= (marks >> 8 * j & kIsArbitrary) != 0;
    sums[j].has_fraction |= (marks >> 8 * j & kHasFraction) != 0;
    sums[j].bits += bits[j];
    sums[j].underflows |= underflows[j];
    sums[j].terms += static_cast<std::uint32_t>(row.size());
  }
}

Scalar Numbers::result(const Accumulator& sum, ElementType type) const {
  if (!type.is_float()) return {0, wrapped(sum.integer, type), sum.arbitrary};
  // A sum of n terms is rounded at most n times, each time to no more than the sum of their sizes.
  const bool is_exact = !sum.has_fraction && sum.size < 0x1p53;
  const double own = is_exact
                         ? 0
                         : kRounding * sum.terms * sum.size *
                               (1 + drawn_by(sum.bits, std::bit_cast<std::uint64_t>(sum.real)));
  const double small = sum.underflows ? sum.terms * std::numeric_limits<double>::min() : 0;
  return {sum.real, 0, sum.arbitrary, rounded_bound(sum.error + own + small)};
}

bool Numbers::equal(const Cell& a, const Cell& b, ElementType type) const {
  return type.is_float() ? a.real == b.real : a.integer == b.integer;
}

Scalar Numbers::apply(const ElementOperation& operation, std::span<const Cell> operands) const {
  if (operation.code == Element::Select) {
    if (!operands[0].arbitrary) return operands[operands[0].integer != 0 ? 1 : 2];
    return either(operands[1], operands[2], operation.to);
  }
  Scalar result = computed(operation, operands);
  for (const Scalar& operand : operands) result.arbitrary = result.arbitrary || operand.arbitrary;
  return result;
}

Scalar Numbers::computed(const ElementOperation& operation, std::span<const Cell> operands) const {
  const ElementType to = operation.to;
  switch (operation.code) {
    case Element::Compare: {
      const Scalar& a = operands[0];
      const Scalar& b = operands[1];
      const bool unclear = operation.from.is_float() && is_unclear(operation, a, b);
      return {0, compared(operation, a, b) ? 1 : 0, unclear};
    }
    case Element::Convert:
    case Element::BitcastConvert: {
      Scalar result = operation.code == Element::Convert
                          ? converted(operands[0], operation.from, to)
                          : bits_converted(operands[0], operation.from, to);
      // Beyond its type a number is infinite there, which is no matter of real numbers.
      const bool is_beyond = operation.code == Element::Convert && to.is_float() &&
                             std::isfinite(result.real) &&
                             std::isinf(rounded_float(result.real, to));
      result.arbitrary =
          result.arbitrary || is_beyond || is_unclear_conversion(operation, operands[0]);
      return result;
    }
    case Element::IsFinite:
      return {0, std::isfinite(operands[0].real) ? 1 : 0, std::isinf(operands[0].error)};
    case Element::Clamp: {
      const ElementOperation most{Element::Minimum, {}, to, to, {}};
      const ElementOperation least{Element::Maximum, {}, to, to, {}};
      const Scalar low[] = {operands[0], operands[1]};
      const Scalar high[] = {apply(least, low), operands[2]};
      return apply(most, high);
    }
    default:
      break;
  }
  const Scalar& second = operands.size() > 1 ? operands[1] : operands[0];
  if (to.is_float() && !has_bounds_)
    return {real_function(operation.code, operands[0].real, second.real)};
  if (to.is_float()) return function_of_reals(operation.code, operands[0], second);
  return {0,
          wrapped(integer_function(operation.code, operands[0].integer, second.integer, to), to)};
}

}  // namespace p2::hlo::interpreter
