#include <cstdlib>

#include <fmt/format.h>

#include "engine/hlo/equality/evaluation.h"

namespace p2::hlo {
namespace {

/// Which element of a literal: the row-major place of a fixed index.
std::int64_t place(const IndexMap& map, const ArrayShape& shape) {
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

/// Of integers; nothing for operations that are not folded.
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
  if (opcode == "shift-right-arithmetic") return whole(a >> b);
  if (opcode == "shift-right-logical" && a >= 0) return whole(a >> b);
  return std::nullopt;
}

/// The largest whole number up to which every one is a number of the type.
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

/// 2^-10 … 2^10 and small whole numbers are numbers of all usual types.
bool is_exact(Number number, ElementType type) {
  if (number.is_whole()) return std::abs(number.numerator) <= exact_up_to(type);
  const bool power_of_two = (number.denominator & (number.denominator - 1)) == 0;
  return power_of_two && number.denominator <= 1024 && type.bits() >= 16 &&
         (number.numerator == 1 || number.numerator == -1);
}

}  // namespace

Evaluation::Answer Evaluation::constant(const Query& query, const Node& node, const IndexMap& map) {
  const std::int64_t partitions = flow_.devices.partitions;
  if (node.op == Op::PartitionId) return values_.number(whole(query.device % partitions));
  if (node.op == Op::ReplicaId) return values_.number(whole(query.device / partitions));
  if (node.op == Op::Iota) {
    const auto along = static_cast<std::size_t>(node.instruction->attributes.dimensions[0]);
    if (map[along].is_fixed()) return values_.number(whole(map[along].base));
    return values_.atom({ValueKind::Position, 0, 0, {map[along]}});
  }
  const Literal& literal = *node.instruction->literal;
  if (literal.elided || (literal.elements.size() > 1 && !is_fixed(map))) {
    if (literal.elided) context_.uninterpreted.insert("constant {...}");
    return values_.atom({ValueKind::Array, node.fingerprint, 0, map});
  }
  const LiteralElement& element = literal.at(place(map, literal.shape));
  return element.text.empty() ? values_.number(element.number)
                              : values_.text(context_.fingerprints.of(element.text));
}

/// What operations make of numbers alone, or of a condition that is known.
Evaluation::Answer Evaluation::fold(const Node& node, const std::vector<Value>& operands) {
  const std::string& opcode = node.instruction->opcode;
  if (opcode == "select") {
    if (operands[1] == operands[2]) return operands[1];
    if (const auto condition = values_.as_number(operands[0])) {
      return operands[condition->is_zero() ? 2 : 1];
    }
  }
  std::vector<Number> numbers;
  for (const Value operand : operands) {
    if (const auto number = values_.as_number(operand)) numbers.push_back(*number);
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
  return values_.number(wrapped(*result, type));
}

/// Whether every number that `value` can be is one of `type`: of a single contribution, by the type
/// it began with.
bool Evaluation::fits(Value value, ElementType type) const {
  if (values_.kind(value) != ValueKind::Input) return false;
  const Atom atom = values_.as_atom(value);
  const ElementType from = flow_.inputs[static_cast<std::size_t>(atom.source)].type;
  return atom.binders.empty() && from.kind() == type.kind() &&
         (from == type || (from.bits() < type.bits() && from.bits() >= 16));
}

/// Widening changes no single number; but a sum that was rounded or wrapped before is another one
/// than a sum of wide numbers. Narrowing rounds. Where it matters a conversion is uninterpreted.
Evaluation::Answer Evaluation::convert(const Node& node, Value value) {
  const ElementType from = flow_.shape(node.operands[0]).type;
  const ElementType to = node.outputs[0].type;
  if (from == to) return value;
  if (const auto number = values_.as_number(value)) {
    if (to.is_integer() && number->is_whole()) return values_.number(wrapped(*number, to));
    if (to.is_float() && is_exact(*number, to)) return value;
  }
  if (fits(value, to)) return value;
  const ValueKind kind = values_.kind(value);
  const bool single = (values_.is_atom(value) && values_.as_atom(value).binders.empty()) ||
                      kind == ValueKind::Maximum || kind == ValueKind::Minimum;
  const bool widens = from.kind() == to.kind() && from.bits() < to.bits() &&
                      (from.is_integer() || from.bits() >= 16);
  if (single && widens) return value;
  return uninterpreted(node, {value});
}

}  // namespace p2::hlo
