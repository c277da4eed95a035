// Symbolic evaluation of constants and elementwise operations.

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "engine/hlo/equality/evaluation.h"
#include "engine/hlo/interpreter/element_operation.h"
#include "engine/hlo/interpreter/numbers.h"

namespace p2::hlo {
namespace {

/// The row-major position of a fixed index.
std::int64_t row_major(const IndexMap& map, const ArrayShape& shape) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < map.size(); ++i) at = at * shape.sizes[i] + map[i].base;
  return at;
}

std::optional<bool> compared(const std::string& direction, Number a, Number b) {
  const int order = compare(a, b);
  if (direction == "EQ") return order == 0;
  if (direction == "NE") return order != 0;
  if (direction == "LT") return order < 0;
  if (direction == "LE") return order <= 0;
  if (direction == "GT") return order > 0;
  if (direction == "GE") return order >= 0;
  return std::nullopt;
}

Number whole(std::int64_t value) { return {value, 1}; }

/// Folds an operation on integers; nothing for any other.
std::optional<Number> folded(const std::string& opcode, std::int64_t a, std::int64_t b,
                             ElementType type) {
  const bool safe = b != 0 && a != INT64_MIN;
  if (opcode == "divide" && safe) return whole(a / b);
  if (opcode == "remainder" && safe) return whole(a % b);
  if (opcode == "and") return whole(a & b);
  if (opcode == "or") return whole(a | b);
  if (opcode == "xor") return whole(a ^ b);
  const bool shift = b >= 0 && b < static_cast<std::int64_t>(type.bits()) && type.bits() < 64;
  if (!shift) return std::nullopt;
  if (opcode == "shift-left") return whole(a << b);
  if (opcode == "shift-right-arithmetic") {  // with the highest bit, also of unsigned numbers
    const unsigned above = 64 - type.bits();
    return whole(static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << above) >> above >> b);
  }
  if (opcode == "shift-right-logical" && a >= 0) return whole(a >> b);
  return std::nullopt;
}

/// The largest n such that the floating-point type represents all integers up to n.
std::int64_t exact_up_to(ElementType type) {
  switch (type.bits()) {
    case 64:
      return std::int64_t{1} << 53U;
    case 32:
      return 1 << 24;
    case 16:
      return type.name() == "bf16" ? 256 : 2048;
    default:
      return 1;
  }
}

/// Whether a number is the value itself. Unsigned ones of 64 bits may be it modulo 2^64.
bool is_value_of(Number number, ElementType type) {
  return type.kind() != ElementType::Kind::Unsigned || number.numerator >= 0;
}

/// Whether a floating-point type represents a number for certain: small integers and ±2^-10 … ±1.
bool is_exact(Number number, ElementType type) {
  if (number.is_whole()) return std::abs(number.numerator) <= exact_up_to(type);
  const bool power_of_two = (number.denominator & (number.denominator - 1)) == 0;
  return power_of_two && number.denominator <= 1024 && type.bits() >= 16 &&
         (number.numerator == 1 || number.numerator == -1);
}

/// The number that a literal is in its type: that of a floating-point type is rounded to it, and
/// taken as the simplest fraction that is so (interpreter::fraction_of). Nothing if that is none of
/// 64 bits.
std::optional<Number> number_of(const LiteralElement& element, ElementType type) {
  if (!element.text.empty()) return std::nullopt;
  if (!type.is_float() || is_exact(element.number, type)) return element.number;
  const auto [numerator, denominator] =
      interpreter::fraction_of(interpreter::real_constant(element), type);
  constexpr double kExact = 0x1p53;
  if (std::fabs(numerator) >= kExact || numerator != std::floor(numerator)) return std::nullopt;
  return Number::ratio(static_cast<std::int64_t>(numerator),
                       static_cast<std::int64_t>(denominator));
}

}  // namespace

bool Evaluation::is_finite(std::uint32_t fingerprint, const Literal& literal) {
  const auto [known, is_new] = finite_constants_.try_emplace(fingerprint);
  if (is_new) {
    known->second = std::ranges::all_of(
        literal.elements, [](const LiteralElement& element) { return element.text.empty(); });
  }
  return known->second;
}

Evaluation::Answer Evaluation::constant(const Query& query, const Node& node, const IndexMap& map) {
  if (node.op == Op::PartitionId || node.op == Op::ReplicaId) {
    require_one_device(query.device);
    const LogicalDevice own = logical_device(*flow_.module, flow_.devices, query.device);
    return values_.number(whole(node.op == Op::PartitionId ? own.partition : own.replica));
  }
  if (node.op == Op::Iota) {
    const auto along = static_cast<std::size_t>(node.instruction->attributes.dimensions[0]);
    // Beyond what the type counts exactly it is rounded.
    const ArrayShape& shape = node.outputs[0];
    if (shape.type.is_float() && shape.sizes[along] > exact_up_to(shape.type))
      return values_.array(node.fingerprint, map, false);
    if (map[along].is_fixed()) return values_.number(whole(map[along].base));
    return values_.atom({ValueKind::Position, 0, 0, {map[along]}});
  }
  const Literal& literal = *node.instruction->literal;
  if (literal.elided || (literal.elements.size() > 1 && !hlo::is_fixed(map))) {
    if (literal.elided && context_.relation != nullptr && context_.relation->is_given) {
      const Instruction& instruction = *node.instruction;
      context_.assumed.insert(instruction.name);
      const std::string text = fmt::format("{} {}", instruction.name, to_string(instruction.shape));
      return values_.array(context_.fingerprints.intern("elided constant " + text), map, false);
    }
    if (literal.elided) context_.uninterpreted.insert("constant {...}");
    return values_.array(node.fingerprint, map,
                         !literal.elided && is_finite(node.fingerprint, literal));
  }
  const LiteralElement& element = literal.at(row_major(map, literal.shape));
  if (const auto number = number_of(element, literal.shape.type)) return values_.number(*number);
  const std::string text =
      element.text.empty()
          ? fmt::format("{:a}", interpreter::rounded_constant(interpreter::real_constant(element),
                                                              literal.shape.type))
          : element.text;
  return values_.text(context_.fingerprints.intern(text));
}

/// Constant folding: operations on numbers, and selections with a known condition.
Evaluation::Answer Evaluation::fold(const Node& node, const std::vector<Value>& operands) {
  const std::string& opcode = node.instruction->opcode;
  if (opcode == "select") {
    if (operands[1] == operands[2]) return operands[1];
    if (const auto condition = values_.as_number(operands[0])) {
      return operands[condition->is_zero() ? 2 : 1];
    }
  }
  std::vector<Number> numbers;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto number = values_.as_number(operands[i]);
    if (number && is_value_of(*number, flow_.shape(node.operands[i]).type)) {
      numbers.push_back(*number);
    }
  }
  if (numbers.empty() || numbers.size() != operands.size()) return std::nullopt;
  return fold_numbers(node, numbers);
}

Evaluation::Answer Evaluation::fold_numbers(const Node& node, const std::vector<Number>& numbers) {
  const std::string& opcode = node.instruction->opcode;
  const ElementType type = node.outputs[0].type;
  const Number first = numbers[0];
  std::optional<Number> result;
  if (opcode == "compare" && numbers.size() == 2) {
    const auto holds = compared(node.instruction->attributes.direction, first, numbers[1]);
    // A zero has no sign, which the order of all floating-point numbers looks at.
    const bool are_zero = first.is_zero() && numbers[1].is_zero();
    if (are_zero &&
        interpreter::orders_totally({.attributes = node.instruction->attributes.others}))
      return std::nullopt;
    if (holds) result = whole(*holds ? 1 : 0);
  } else if (opcode == "clamp" && numbers.size() == 3) {
    const Number low = compare(numbers[1], numbers[0]) < 0 ? numbers[0] : numbers[1];
    result = compare(low, numbers[2]) > 0 ? numbers[2] : low;
  } else if (opcode == "maximum" || opcode == "minimum") {
    const bool less = compare(first, numbers[1]) < 0;
    result = less == (opcode == "maximum") ? numbers[1] : first;
  } else if (opcode == "not" && type.kind() == ElementType::Kind::Boolean) {
    result = whole(first.is_zero() ? 1 : 0);
  } else if (opcode == "abs") {
    result = Number{std::abs(first.numerator), first.denominator};
  } else if (opcode == "sign") {
    result = whole(compare(first, {}));
  } else if (numbers.size() == 2 && !type.is_float() && first.is_whole() && numbers[1].is_whole()) {
    result = folded(opcode, first.numerator, numbers[1].numerator, type);
  }
  if (!result) return std::nullopt;
  return values_.number(wrap_around(*result, type));
}

/// Whether `type` represents all values of an element: those of inputs of a narrower type.
bool Evaluation::fits(Value value, ElementType type) const {
  if (values_.kind(value) != ValueKind::Input || context_.relation != nullptr) return false;
  const Atom atom = values_.as_atom(value);
  const ElementType from = flow_.inputs[static_cast<std::size_t>(atom.source)].type;
  return atom.binders.empty() && from.kind() == type.kind() &&
         (from == type || (from.bits() < type.bits() && from.bits() >= 16));
}

/// Whether a value is a single element, which is in the range of its type. A position may be the
/// result of arithmetic that wraps around.
bool Evaluation::is_element(Value value, ElementType type) const {
  if (!values_.is_atom(value)) return false;
  const Atom atom = values_.as_atom(value);
  if (!atom.binders.empty()) return false;
  if (atom.kind != ValueKind::Position || !type.is_integer()) return true;
  const Space::Range range = space_.range(atom.map[0]);
  if (type.kind() == ElementType::Kind::Unsigned && range.low < 0) return false;
  return wrap_around(whole(range.low), type) == whole(range.low) &&
         wrap_around(whole(range.high), type) == whole(range.high);
}

/// Widening is exact, so single elements keep their value; but a sum that was rounded or wrapped in
/// the narrow type differs from a sum in the wide one. Narrowing rounds. Conversions that are not
/// known to be exact are uninterpreted.
Evaluation::Answer Evaluation::convert(const Node& node, Value value) {
  const ElementType from = flow_.shape(node.operands[0]).type;
  const ElementType to = node.outputs[0].type;
  if (from == to) return value;
  if (context_.relation != nullptr && from.is_float() && to.is_float()) return value;
  if (const auto number = values_.as_number(value)) {
    // Beyond the range of integers a floating-point number does not wrap around.
    // Its constant may be printed with fewer digits than its type has.
    const bool fits_in = number->is_whole() && is_exact(*number, from) &&
                         is_value_of(*number, to) && wrap_around(*number, to) == *number;
    if (to.is_integer() && number->is_whole() && (from.is_integer() || fits_in)) {
      return values_.number(wrap_around(*number, to));
    }
    const bool known = from.is_float() ? is_exact(*number, from) : is_value_of(*number, from);
    if (to.is_float() && known && is_exact(*number, to)) return value;
  }
  if (fits(value, to)) return value;
  const ValueKind kind = values_.kind(value);
  const auto is_element = [&](Value each) { return this->is_element(each, from); };
  const std::vector<Value> members = values_.children(value);
  const bool single =
      is_element(value) || ((kind == ValueKind::Maximum || kind == ValueKind::Minimum) &&
                            std::all_of(members.begin(), members.end(), is_element));
  const bool widens = from.kind() == to.kind() && from.bits() < to.bits() &&
                      (from.is_integer() || from.bits() >= 16);
  if (single && widens) return value;
  return uninterpreted(node, {value});
}

Value Evaluation::uninterpreted(const Node& node, const std::vector<Value>& operands) {
  context_.uninterpreted.insert(node.instruction->opcode);
  // Integers are taken as they wrap around in their type.
  std::string types;
  for (const Ref operand : node.operands) {
    const ElementType type = flow_.shape(operand).type;
    if (type.is_integer()) types += fmt::format(" {}", type.name());
  }
  const std::uint32_t function =
      types.empty() ? node.fingerprint
                    : context_.fingerprints.intern(fmt::format(
                          "{} of{}", context_.fingerprints.text(node.fingerprint), types));
  return values_.apply(function, operands, false);
}

Evaluation::Answer Evaluation::elementwise(const Query& query, const Node& node,
                                           const IndexMap& map) {
  std::vector<Value> operands;
  for (const Ref operand : node.operands) {
    const bool scalar = flow_.shape(operand).sizes.empty();
    const Answer answer = demand(operand, query.device, scalar ? IndexMap{} : map);
    if (answer) operands.push_back(*answer);
  }
  if (operands.size() != node.operands.size()) return std::nullopt;
  return arithmetic(node, operands);
}

Value Evaluation::arithmetic(const Node& node, const std::vector<Value>& operands) {
  if (const Answer folded = fold(node, operands)) return *folded;
  const std::string& opcode = node.instruction->opcode;
  const ElementType type = node.outputs[0].type;
  if (opcode == "convert") return *convert(node, operands[0]);
  const bool bits = type.is_integer() && (opcode == "and" || opcode == "or");
  if (node.reducer != Reducer::Unknown && operands.size() == 2 && !bits) {
    return combine(node, node.reducer, operands, type);
  }
  const Number minus{-1, 1};
  std::optional<Value> result;
  if (opcode == "negate") {
    result = multiply({operands[0], values_.number(minus)}, type);
  } else if (opcode == "subtract") {
    const auto negated = multiply({operands[1], values_.number(minus)}, type);
    if (negated) result = combine(node, Reducer::Add, {operands[0], *negated}, type);
  } else if (opcode == "divide" && type.is_float()) {
    const auto divisor = values_.as_number(operands[1]);
    const auto inverse = divisor ? quotient({1, 1}, *divisor) : std::nullopt;
    if (inverse) {
      result = combine(node, Reducer::Multiply, {operands[0], values_.number(*inverse)}, type);
    }
  }
  return result ? *result : uninterpreted(node, operands);
}

/// A sum that is commutative and not associative.
Value Evaluation::add_in_order(const std::vector<Value>& members) {
  std::vector<Value> nonzero;
  for (const Value member : members) {
    const auto number = values_.as_number(member);
    if (!number || !number->is_zero()) nonzero.push_back(member);
  }
  if (nonzero.empty()) return values_.number({});
  if (nonzero.size() == 1) return nonzero[0];
  return values_.apply(context_.fingerprints.intern("added in order"), nonzero,
                       nonzero.size() == 2);
}

std::optional<Value> Evaluation::add(const std::vector<Value>& members, ElementType type) {
  for (const Value member : members) context_.spend(values_.terms(member));
  return values_.combine(Reducer::Add, members, type);
}

/// Distributes a number over a sum; other products are not expanded.
std::optional<Value> Evaluation::multiply(const std::vector<Value>& members, ElementType type) {
  const auto first = values_.as_number(members[0]);
  const auto second = values_.as_number(members[1]);
  if (members.size() != 2 || (!first && !second)) {
    return values_.combine(Reducer::Multiply, members, type);
  }
  Linear linear = values_.as_linear(members[first ? 1 : 0]);
  if ((first && first->is_zero()) || (second && second->is_zero())) {
    const Value other = members[first ? 1 : 0];
    if (values_.finiteness(other) != Finiteness::Finite) return std::nullopt;
  }
  const Number factor = first ? *first : *second;
  const auto constant = product(linear.constant, factor);
  if (!constant) return std::nullopt;
  linear.constant = *constant;
  for (LinearTerm& term : linear.terms) {
    const auto scaled = product(term.coefficient, factor);
    if (!scaled) return std::nullopt;
    term.coefficient = *scaled;
  }
  return values_.from_linear(std::move(linear), type);
}

/// The reduction of values; with an unknown reducer, an uninterpreted function of the sequence.
Value Evaluation::combine(const Node& node, Reducer reducer, std::vector<Value> members,
                          ElementType type) {
  context_.spend(members.size());
  if (members.size() == 1) return members[0];
  if (reducer == Reducer::Add && keeps_order(type)) return add_in_order(members);
  std::optional<Value> result;
  if (reducer == Reducer::Add) {
    result = add(members, type);
  } else if (reducer == Reducer::Multiply) {
    result = multiply(members, type);
  } else if (reducer != Reducer::Unknown) {
    result = values_.combine(reducer, members, type);
  }
  if (result) return *result;
  const bool reduces = node.called != kNone;
  context_.uninterpreted.insert(reduces ? "the reducer of " + node.instruction->opcode
                                        : node.instruction->opcode);
  // The function depends on the reducer alone, so that collectives and reductions can be equal.
  const std::uint32_t function =
      reduces ? context_.fingerprints.intern(fmt::format("reduced by #{}", node.called))
              : node.fingerprint;
  return values_.apply(function, std::move(members), false);
}

}  // namespace p2::hlo
