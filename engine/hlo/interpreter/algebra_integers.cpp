// Integers in the algebra of random interpretation: exact integers until something looks at the
// value that they have after they wrap around.

#include <algorithm>
#include <cmath>

#include "engine/hlo/interpreter/algebra.h"

namespace p2::hlo::interpreter {
namespace {

struct Range {
  double low;
  double high;
};

Range range_of(ElementType type) {
  const int bits = static_cast<int>(type.bits());
  switch (type.kind()) {
    case ElementType::Kind::Boolean:
      return {0, 1};
    case ElementType::Kind::Unsigned:
      return {0, std::ldexp(1.0, bits) - 1};
    case ElementType::Kind::Signed:
      return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
    default:
      return {-kInfinity, kInfinity};
  }
}

}  // namespace

/// The value that an integer has after it wraps around.
Term Algebra::unwrapped(const Term& a, ElementType type) {
  const Range range = range_of(type);
  if (a.low >= range.low && a.high <= range.high && type.bits() < 54) return a;
  if (type.bits() >= 54 && std::fabs(a.low) < kExactIntegers &&
      std::fabs(a.high) < kExactIntegers && a.low >= range.low) {
    return a;
  }
  if (const auto result = wrapped_by_pieces(a, type, range.low, range.high)) return *result;
  return drawn_term(hash(hash(0x3A, a.value), type.index()), range.low, range.high);
}

Term Algebra::exact(const Term& a, ElementType type) {
  return type.is_float() ? a : unwrapped(a, type);
}

std::optional<std::int64_t> Algebra::as_integer(const Cell& cell, ElementType type) {
  if (!is_constant(cell) || std::fabs(cell.low) >= kExactIntegers) return std::nullopt;
  return wrapped(static_cast<std::uint64_t>(static_cast<std::int64_t>(cell.low)), type);
}

Term Algebra::convert(const Term& a, ElementType from, ElementType to) {
  const bool to_boolean = to.kind() == ElementType::Kind::Boolean;
  if (from.is_float()) {
    if (to.is_float()) return a;
    if (to_boolean) return complement(is_zero(a));
    const auto known = known_real(a);
    if (known && std::isfinite(*known)) {
      const Scalar operand[] = {{*known, 0}};
      return integer(Numbers().apply({Element::Convert, {}, from, to, {}}, operand).integer, to);
    }
    const Range range = range_of(to);
    const Term operand[] = {a};
    return unknown_function(Element::Convert, to, operand,
                            std::clamp(std::floor(a.low), range.low, range.high),
                            std::clamp(std::ceil(a.high), range.low, range.high));
  }
  if (to_boolean) return complement(is_zero(unwrapped(a, from)));
  if (to.is_float() || from.bits() < to.bits()) {
    const Term whole = unwrapped(a, from);
    const bool is_known = is_constant(whole) && std::fabs(whole.low) < kExactIntegers;
    return is_known && to.is_float() ? integer(static_cast<std::int64_t>(whole.low), to) : whole;
  }
  if (const auto known = as_integer(a, from))
    return integer(wrapped(static_cast<std::uint64_t>(*known), to), to);
  return a;  // modulo a smaller power of 2
}

Term Algebra::integral(const ElementOperation& operation, std::span<const Term> operands) {
  const ElementType type = operation.to;
  std::vector<Scalar> known;
  for (const Term& operand : operands) {
    if (const auto value = as_integer(operand, type)) known.push_back({0, *value});
  }
  if (known.size() == operands.size()) {
    return integer(Numbers().apply(operation, known).integer, type);
  }
  const Term& a = operands[0];
  const bool boolean = type.kind() == ElementType::Kind::Boolean;
  if (boolean) {
    switch (operation.code) {
      case Element::Not:
        return complement(a);
      case Element::And:
      case Element::Multiply:
      case Element::Minimum: {
        const Term& b = operands[1];
        const auto both = [](const std::vector<Term>& values) -> std::optional<Term> {
          if (is_constant(values[0])) return values[values[0].low == 0 ? 0 : 1];
          if (is_constant(values[1])) return values[values[1].low == 0 ? 1 : 0];
          return std::nullopt;
        };
        if (const auto result = by_pieces({&a, &b}, type, false, both)) return *result;
        if (complement(a).value == b.value) return {};
        return complement(maximum(complement(a), complement(b)));
      }
      case Element::Or:
      case Element::Add:
      case Element::Maximum: {
        const auto either = [](const std::vector<Term>& values) -> std::optional<Term> {
          if (is_constant(values[0])) return values[values[0].low == 0 ? 1 : 0];
          if (is_constant(values[1])) return values[values[1].low == 0 ? 0 : 1];
          return std::nullopt;
        };
        if (const auto result = by_pieces({&a, &operands[1]}, type, false, either)) return *result;
        if (complement(a).value == operands[1].value) return number(1);
        return maximum(a, operands[1]);
      }
      case Element::Xor:
        if (a.value == operands[1].value) return {};
        if (complement(a).value == operands[1].value) return number(1);
        break;
      default:
        break;
    }
  }
  switch (operation.code) {
    case Element::Add:
      if (!boolean) return sum(a, operands[1], type);
      break;
    case Element::Subtract:
      return sum(a, negated(operands[1]), type);
    case Element::Multiply:
      if (!boolean) return product(a, operands[1], type);
      break;
    case Element::Negate:
      return negated(a);
    case Element::Not:
      return sum(number(-1), negated(a), type);
    default:
      break;
  }
  // The other functions are of the values after they wrap around.
  std::vector<Term> wrapped_operands;
  for (const Term& operand : operands) wrapped_operands.push_back(unwrapped(operand, type));
  const Range range = range_of(type);
  switch (operation.code) {
    case Element::Maximum:
    case Element::Minimum: {
      const Term& x = wrapped_operands[0];
      const Term& y = wrapped_operands[1];
      const bool most = operation.code == Element::Maximum;
      const auto greater = greater_by_pieces(x, y);
      if (greater) return select(*greater, most ? x : y, most ? y : x, type);
      return most ? maximum(x, y) : minimum(x, y);
    }
    case Element::Abs:
      if (wrapped_operands[0].low > range.low)
        return maximum(wrapped_operands[0], negated(wrapped_operands[0]));
      break;
    case Element::And:
      if (interpreter::is_zero(wrapped_operands[0]) || interpreter::is_zero(wrapped_operands[1]))
        return {};
      break;
    case Element::Or:
    case Element::Xor:
      if (interpreter::is_zero(wrapped_operands[0])) return wrapped_operands[1];
      if (interpreter::is_zero(wrapped_operands[1])) return wrapped_operands[0];
      break;
    case Element::ShiftRightLogical:
    case Element::ShiftRightArithmetic:
    case Element::ShiftLeft:
      if (interpreter::is_zero(wrapped_operands[1])) return wrapped_operands[0];
      break;
    case Element::Divide:
    case Element::Remainder: {
      const bool is_division = operation.code == Element::Divide;
      if (is_constant(wrapped_operands[1]) && wrapped_operands[1].low == 1)
        return is_division ? wrapped_operands[0] : Term{};
      if (wrapped_operands[0].low >= 0 && wrapped_operands[1].low > wrapped_operands[0].high)
        return is_division ? Term{} : wrapped_operands[0];
      if (wrapped_operands[0].low >= 0 && wrapped_operands[1].low > 0) {
        const double high = is_division
                                ? std::floor(wrapped_operands[0].high / wrapped_operands[1].low)
                                : std::min(wrapped_operands[0].high, wrapped_operands[1].high - 1);
        return unknown_function(operation.code, type, wrapped_operands, 0, high);
      }
      break;
    }
    default:
      break;
  }
  if (is_commutative(operation.code) && wrapped_operands[1].value < wrapped_operands[0].value) {
    std::swap(wrapped_operands[0], wrapped_operands[1]);
  }
  return unknown_function(operation.code, type, wrapped_operands, range.low, range.high);
}

}  // namespace p2::hlo::interpreter
