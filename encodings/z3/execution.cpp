#include "encodings/z3/execution.h"

#include <set>
#include <stdexcept>

namespace p2::z3_encoding {

Execution::Execution(z3::context& context, const Program& program, const Lowering* lowering,
                     Dialect dialect, const Rulebook& rulebook)
    : Execution(context, program, lowering, dialect, rulebook,
                end_rows(context, program.terms.goal, program.beginning.start, program.classes,
                         program.chunks(), program.devices)) {}

Execution::Execution(z3::context& context, const Program& program, const Lowering* lowering,
                     Dialect dialect, const Rulebook& rulebook, EndRows ends)
    : context_(&context),
      program_(program),
      lowering_(lowering),
      dialect_(dialect),
      rulebook_(rulebook),
      rows_(std::move(ends.begin)),
      goal_(std::move(ends.goal)) {}

bool Execution::take(const Step& step, const Condition& condition) {
  const Rule& rule = rulebook_.called(program_.terms.collectives.name_of(step.collective));
  std::vector<Group> groups = step.groups;
  if (step.shape) {
    if (lowering_ == nullptr) throw std::invalid_argument("a step has a shape but no instance");
    Formed formed = lowering_->form(*step.shape);
    const bool allowed = dialect_allows(dialect_, formed.everyone, rule.definition.name);
    if (!condition("master", context_->bool_val(allowed))) return false;
    groups = std::move(formed.groups);
  }
  for (const Group& group : groups) {
    if (!take(rule, group, step.shape.has_value(), condition)) return false;
  }
  return true;
}

bool Execution::take(const Rule& rule, const Group& group, bool of_instruction,
                     const Condition& condition) {
  const GroupRows before = rows_.of(group);
  if (of_instruction && !condition("empty-group", !holds_nothing(before))) return false;
  Reading reading(*context_, rule, before);
  for (std::size_t i = 0; i < rule.definition.premises.size(); ++i) {
    if (!condition(rule.definition.premises[i].name, reading.premise(i))) return false;
  }
  rows_.take(group, reading);
  return true;
}

bool Execution::finish(const Condition& condition) const {
  const z3::expr none = context_->bv_val(0, program_.devices);
  // The first difference names the rule, and the same rows have no other one later.
  std::set<std::pair<unsigned, unsigned>> seen;
  for (std::uint32_t d = 0; d < program_.devices; ++d) {
    for (std::uint32_t r = 0; r < rows_.chunks(); ++r) {
      const z3::expr& held = rows_.row(d, r);
      const z3::expr& wanted = goal_.row(d, r);
      if (!seen.emplace(held.id(), wanted.id()).second) continue;
      if (!condition("goal-excess", (held & ~wanted) == none)) return false;
      if (!condition("goal-lacks", (wanted & ~held) == none)) return false;
    }
  }
  return true;
}

}  // namespace p2::z3_encoding
