#include "proofs/definition/measure_by_chunk.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace p2::definition {
namespace {

using language::Expression;
using language::Kind;
using language::Type;
using z3_encoding::Value;

Expression number(std::uint64_t value) { return {Kind::Number, Type::Integer, value, 0, {}, {}}; }

Expression operation(Kind kind, Type type, Expression left, Expression right) {
  Expression result{kind, type, 0, 0, {}, {}};
  result.operands.push_back(std::move(left));
  result.operands.push_back(std::move(right));
  return result;
}

/// 1 − ((r − chunk) + (chunk − r)): 1 for r = chunk and 0 for any other, as differences end at 0.
Expression one_if(const Expression& r, std::uint32_t chunk) {
  const Type integer = Type::Integer;
  Expression distance =
      operation(Kind::Add, integer, operation(Kind::Subtract, integer, r, number(chunk)),
                operation(Kind::Subtract, integer, number(chunk), r));
  return operation(Kind::Subtract, integer, number(1), std::move(distance));
}

/// The measure before and after the step as the rule sees it, and the term that compares them.
struct Compared {
  Value before;
  Value after;
};

Compared compared(z3::context& context, const z3_encoding::Rule& rule, const SymbolicStep& step) {
  z3_encoding::Reading before(context, rule, step.before());
  z3_encoding::Reading after(context, rule, step.after());
  return {before.measure(), after.measure()};
}

bool may_wrap(const Value& value) {
  return value.term && value.most == std::numeric_limits<std::uint64_t>::max();
}

z3::expr boolean(z3::context& context, const Value& value) {
  return value.term ? *value.term : context.bool_val(value.known == 1);
}

}  // namespace

std::optional<language::Definition> measuring_chunk(const language::Definition& definition,
                                                    std::uint32_t chunk) {
  language::Definition part = definition;
  Expression& measure = part.measure;
  if (measure.kind != Kind::Sum && measure.kind != Kind::Count) return std::nullopt;
  const auto r = std::find_if(
      measure.variables.begin(), measure.variables.end(),
      [](const language::Variable& variable) { return variable.sort == language::Sort::Chunk; });
  if (r == measure.variables.end()) return std::nullopt;
  const Expression variable{Kind::Variable, Type::Integer, 0, r->slot, {}, {}};
  Expression& body = measure.operands[0];
  body = measure.kind == Kind::Sum
             ? operation(Kind::Multiply, Type::Integer, one_if(variable, chunk), std::move(body))
             : operation(Kind::And, Type::Boolean,
                         operation(Kind::Equal, Type::Boolean, variable, number(chunk)),
                         std::move(body));
  return part;
}

std::optional<z3::expr> measure_stuck_by_chunk(z3::context& context, SymbolicStep& step) {
  const Compared whole = compared(context, step.rule(), step);
  if (may_wrap(whole.before) || may_wrap(whole.after)) return std::nullopt;
  const z3_encoding::Arithmetic arithmetic(context);
  z3::expr_vector some_falls(context);
  z3::expr_vector none_rises(context);
  for (std::uint32_t chunk = 0; chunk < step.before().chunks(); ++chunk) {
    const auto definition = measuring_chunk(step.rule().definition, chunk);
    if (!definition) return std::nullopt;
    const z3_encoding::Rule rule(*definition);
    const Compared part = compared(context, rule, step);
    some_falls.push_back(boolean(context, arithmetic.less(part.after, part.before)));
    none_rises.push_back(!boolean(context, arithmetic.less(part.before, part.after)));
  }
  return z3::mk_or(some_falls) || z3::mk_and(none_rises);
}

}  // namespace p2::definition
