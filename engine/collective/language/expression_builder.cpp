#include "engine/collective/language/expression_builder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace p2::language {
namespace {

std::string_view name_of(Type type) { return type == Type::Boolean ? "a boolean" : "an integer"; }

}  // namespace

Parsed ExpressionBuilder::node(Kind kind, Type type, std::size_t offset) {
  scope_.add_node(offset);
  Parsed result;
  result.expression.kind = kind;
  result.expression.type = type;
  result.offset = offset;
  return result;
}

void ExpressionBuilder::adopt(Parsed& parent, Parsed operand) {
  deepen(parent, operand.depth);
  parent.expression.operands.push_back(std::move(operand.expression));
}

void ExpressionBuilder::deepen(Parsed& parent, std::size_t below) const {
  parent.depth = std::max(parent.depth, below + 1);
  if (parent.depth <= kMaxDepth) return;
  tokens_.fail(parent.offset,
               fmt::format("the expression is nested deeper than {}, lets written out", kMaxDepth));
}

Parsed ExpressionBuilder::combine(const Operator& op, Parsed left, Parsed right) {
  const std::size_t offset = left.offset;
  require_type(left, op.operands, fmt::format("to the left of '{}'", op.spelling));
  require_type(right, op.operands, fmt::format("to the right of '{}'", op.spelling));
  if (op.swapped) std::swap(left, right);
  Parsed result = node(op.kind, op.result, offset);
  adopt(result, std::move(left));
  adopt(result, std::move(right));
  if (!op.negated) return result;
  Parsed negation = node(Kind::Not, Type::Boolean, offset);
  adopt(negation, std::move(result));
  return negation;
}

Parsed ExpressionBuilder::call(std::uint32_t let, std::size_t offset) {
  Parsed result = node(Kind::Call, scope_.let(let).body.type, offset);
  result.expression.index = let;
  deepen(result, scope_.add_call(let, offset));
  return result;
}

void ExpressionBuilder::require_type(const Parsed& found, Type type, std::string_view place) const {
  if (found.expression.type == type) return;
  tokens_.fail(found.offset, fmt::format("found {}, expected {} {}", name_of(found.expression.type),
                                         name_of(type), place));
}

}  // namespace p2::language
