#include <fmt/format.h>

#include "engine/hlo/equality/evaluation.h"

namespace p2::hlo {

Value Evaluation::uninterpreted(const Node& node, const std::vector<Value>& operands) {
  context_.uninterpreted.insert(node.instruction->opcode);
  return values_.apply(node.fingerprint, operands, false);
}

Evaluation::Answer Evaluation::elementwise(const Query& query, const Node& node,
                                           const IndexMap& map) {
  std::vector<Value> operands;
  for (const Ref operand : node.operands) {
    const bool scalar = flow_.shape(operand).sizes.empty();
    const Answer answer = ask(operand, query.device, scalar ? IndexMap{} : map);
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
    result = values_.combine(Reducer::Multiply, {operands[0], values_.number(minus)}, type);
  } else if (opcode == "subtract") {
    const auto negated =
        values_.combine(Reducer::Multiply, {operands[1], values_.number(minus)}, type);
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

/// A sum whose rounding depends on the order: of two either way round is the same.
Value Evaluation::add_in_order(const std::vector<Value>& members) {
  std::vector<Value> some;
  for (const Value member : members) {
    const auto number = values_.as_number(member);
    if (!number || !number->is_zero()) some.push_back(member);
  }
  if (some.empty()) return values_.number({});
  if (some.size() == 1) return some[0];
  return values_.apply(context_.fingerprints.of("added in order"), some, some.size() == 2);
}

std::optional<Value> Evaluation::add(const std::vector<Value>& members, ElementType type) {
  Linear all;
  for (const Value member : members) {
    Linear linear = values_.as_linear(member);
    const auto constant = sum(all.constant, linear.constant);
    if (!constant) return std::nullopt;
    all.constant = *constant;
    context_.spend(linear.terms.size());
    all.terms.insert(all.terms.end(), linear.terms.begin(), linear.terms.end());
  }
  return values_.of(std::move(all), type);
}

/// A number times a sum is the sum of the products; other products stay as they are.
std::optional<Value> Evaluation::multiply(const std::vector<Value>& members, ElementType type) {
  const auto first = values_.as_number(members[0]);
  const auto second = values_.as_number(members[1]);
  if (members.size() != 2 || (!first && !second)) {
    return values_.combine(Reducer::Multiply, members, type);
  }
  Linear linear = values_.as_linear(members[first ? 1 : 0]);
  const Number factor = first ? *first : *second;
  const auto constant = product(linear.constant, factor);
  if (!constant) return std::nullopt;
  linear.constant = *constant;
  for (LinearTerm& term : linear.terms) {
    const auto scaled = product(term.coefficient, factor);
    if (!scaled) return std::nullopt;
    term.coefficient = *scaled;
  }
  return values_.of(std::move(linear), type);
}

/// What a reducer makes of values; where it is not known, a function of them in their order.
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
  // Of a collective, what is put together counts, not how many devices there are.
  const std::uint32_t function =
      reduces ? context_.fingerprints.of(fmt::format("reduced by #{}", node.called))
              : node.fingerprint;
  return values_.apply(function, std::move(members), false);
}

}  // namespace p2::hlo
