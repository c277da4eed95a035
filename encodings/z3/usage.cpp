#include "encodings/z3/usage.h"

namespace p2::z3_encoding {
namespace {

using language::Expression;
using language::Kind;
using language::Type;

Slots bit(std::uint32_t slot) { return static_cast<Slots>(1U << slot); }

Slots united(Slots a, Slots b) { return static_cast<Slots>(a | b); }

Slots without(Slots slots, const std::vector<language::Variable>& variables) {
  for (const language::Variable& variable : variables) {
    slots = static_cast<Slots>(slots & ~bit(variable.slot));
  }
  return slots;
}

/// Whether a value for all contributors at once can be made from those of the operands.
bool works_on_lanes(const Expression& expression) {
  switch (expression.kind) {
    case Kind::Holds:
    case Kind::Call:
    case Kind::Not:
    case Kind::And:
    case Kind::Or:
    case Kind::Implies:
    case Kind::Iff:
    case Kind::ForAll:
    case Kind::Exists:
      return expression.type == Type::Boolean;
    default:
      return false;
  }
}

}  // namespace

UsageTable::UsageTable(const language::Definition& definition) : definition_(definition) {
  for (const language::Let& let : definition.lets) note(let.body);
  for (const language::Premise& premise : definition.premises) note(premise.formula);
  note(definition.post_state.formula);
  note(definition.measure);
}

Usage UsageTable::note(const Expression& expression) {
  Usage usage;
  if (expression.kind == Kind::Call) {
    usage = of_call(expression);
  } else if (expression.kind == Kind::Variable) {
    usage.free = usage.numeric = bit(expression.index);
  } else if (expression.kind == Kind::Holds) {
    for (const Expression& operand : expression.operands) {
      if (operand.kind == Kind::Variable) usage.free = united(usage.free, bit(operand.index));
    }
    usage.chunk = bit(expression.operands[1].index);
  } else {
    usage = of_parts(expression);
  }
  if (!works_on_lanes(expression)) usage.single = usage.free;
  usages_[&expression] = usage;
  return usage;
}

Usage UsageTable::of_parts(const Expression& expression) {
  Usage usage;
  for (const Expression& operand : expression.operands) {
    const Usage part = note(operand);
    usage.free = united(usage.free, part.free);
    usage.numeric = united(usage.numeric, part.numeric);
    usage.chunk = united(usage.chunk, part.chunk);
    usage.single = united(usage.single, part.single);
  }
  usage.free = without(usage.free, expression.variables);
  usage.numeric = without(usage.numeric, expression.variables);
  usage.chunk = without(usage.chunk, expression.variables);
  usage.single = without(usage.single, expression.variables);
  return usage;
}

Usage UsageTable::of_call(const Expression& expression) const {
  const Usage& body = usages_.at(&definition_.lets[expression.index].body);
  Usage usage;
  for (std::uint32_t i = 0; i < expression.operands.size(); ++i) {
    const Expression& argument = expression.operands[i];
    if (argument.kind != Kind::Variable || (body.free & bit(i)) == 0) continue;
    const Slots slot = bit(argument.index);
    // One variable in two places: the let would have lanes along both.
    if ((usage.free & slot) != 0) usage.single = united(usage.single, slot);
    usage.free = united(usage.free, slot);
    if ((body.numeric & bit(i)) != 0) usage.numeric = united(usage.numeric, slot);
    if ((body.chunk & bit(i)) != 0) usage.chunk = united(usage.chunk, slot);
    if ((body.single & bit(i)) != 0) usage.single = united(usage.single, slot);
  }
  return usage;
}

}  // namespace p2::z3_encoding
