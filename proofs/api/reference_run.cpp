#include "proofs/api/reference_run.h"

#include <algorithm>
#include <tuple>

#include "engine/collective/language/interpreter.h"
#include "engine/program/explanation.h"

namespace p2 {
namespace {

using language::Definition;
using language::GroupState;

std::uint64_t work(const Program& program) {
  std::uint64_t squares = 0;
  for (const Step& step : program.steps) {
    for (const Group& group : step.groups) squares += group.size() * group.size();
  }
  if (!program.terms.goal.is_allreduce()) {
    for (const Group& members : program.classes) squares += members.size() * members.size();
  }
  const std::uint64_t cells = std::uint64_t{program.devices} * program.chunks();
  return cells > ReferenceRun::kMostWork ? cells : cells * (squares + program.devices);
}

const Definition& called(std::string_view name, std::span<const Definition> definitions) {
  const auto found = std::find_if(definitions.begin(), definitions.end(),
                                  [&](const Definition& each) { return each.name == name; });
  invariant(found != definitions.end(), "no definition has the name of a collective");
  return *found;
}

bool holds_nothing(const GroupState& state) {
  return state == GroupState(state.devices(), state.chunks(), state.contributors());
}

}  // namespace

ReferenceRun::ReferenceRun(const Program& program, Dialect dialect,
                           std::span<const Definition> definitions, const Limits& limits)
    : program_(program) {
  if (work(program) > kMostWork) {
    finding_.rule = "too large for the reference interpreter";
    return;
  }
  states_ = ReferenceStates::begin(program);
  goal_ = states_.goal(program);
  for (const Step& step : program.steps) {
    ++finding_.step;
    if (!take(step, dialect, definitions, limits)) return;
  }
  judge_end();
}

bool ReferenceRun::take(const Step& step, Dialect dialect, std::span<const Definition> definitions,
                        const Limits& limits) {
  if (step.shape && !allows(dialect, step.shape->pattern, step.collective)) return refuse("master");
  const Definition& definition =
      called(program_.terms.collectives.name_of(step.collective), definitions);
  for (const Group& group : step.groups) {
    if (limits.exceeded(0)) return false;
    const GroupState before = states_.of(group);
    if (step.shape && holds_nothing(before)) return refuse("empty-group", group);
    if (const auto failed = first_failed_premise(definition, before)) {
      return refuse(definition.premises[failed->premise].name.c_str(), group);
    }
    states_.put(group, post_state(definition, before));
  }
  return true;
}

void ReferenceRun::judge_end() {
  for (std::uint32_t d = 0; d < program_.devices; ++d) {
    for (std::uint32_t r = 0; r < states_.chunks(); ++r) {
      bool lacks = false;
      bool excess = false;
      for (std::uint32_t c = 0; c < program_.devices; ++c) {
        lacks = lacks || (goal_.holds(d, r, c) && !states_.holds(d, r, c));
        excess = excess || (!goal_.holds(d, r, c) && states_.holds(d, r, c));
      }
      if (lacks || excess) {
        refuse(excess ? "goal-excess" : "goal-lacks");
        return;
      }
    }
  }
  finding_ = {"valid", 0, {}};
}

bool ReferenceRun::refuse(const char* rule, const Group& group) {
  finding_.verdict = "invalid";
  finding_.rule = rule;
  group_ = group;
  return false;
}

bool ReferenceRun::shows(const Refusal& refusal) const {
  const std::uint32_t first = group_[refusal.first];
  const std::uint32_t second = group_[refusal.second];
  const auto holds = [&](std::uint32_t device) {
    return states_.holds(device, refusal.chunk, refusal.contributor);
  };
  switch (refusal.premise) {
    case Premise::SameChunks:
      return states_.holds_chunk(first, refusal.chunk) &&
             !states_.holds_chunk(second, refusal.chunk);
    case Premise::Disjoint:
      return first != second && holds(first) && holds(second);
    case Premise::Divisible:
      return refusal.first_count == states_.chunks_held(first) &&
             refusal.first_count % group_.size() != 0;
    case Premise::DisjointChunks:
      return first != second && states_.holds_chunk(first, refusal.chunk) &&
             states_.holds_chunk(second, refusal.chunk);
    case Premise::EqualCount:
      return refusal.first_count == states_.chunks_held(first) &&
             refusal.second_count == states_.chunks_held(second) &&
             refusal.first_count != refusal.second_count;
    case Premise::Contained:
      return refusal.first == 0 && !holds(first) && holds(second);
    case Premise::Informative:
      return refusal.first == 0;
  }
  return false;
}

bool ReferenceRun::shows(const Refutation& refutation) const {
  if (finding_.verdict != "invalid" || finding_.step != refutation.step ||
      finding_.rule != rule_name(refutation) || group_ != refutation.group) {
    return false;
  }
  const auto& [device, chunk, contributor] =
      std::tie(refutation.device, refutation.chunk, refutation.contributor);
  switch (refutation.rule) {
    case Refutation::Rule::Premise:
      return shows(refutation.refusal);
    case Refutation::Rule::Lacks:
    case Refutation::Rule::Excess: {
      const bool excess = refutation.rule == Refutation::Rule::Excess;
      return goal_.holds(device, chunk, contributor) != excess &&
             states_.holds(device, chunk, contributor) == excess;
    }
    case Refutation::Rule::Defined:
    case Refutation::Rule::Master:
    case Refutation::Rule::Empty:
      return true;
  }
  return false;
}

Finding reference_finding(const Program& program, Dialect dialect, const Verdict& verdict,
                          const Limits& limits) {
  const ReferenceRun run(program, dialect, program.terms.collectives.definitions(), limits);
  Finding finding = run.finding();
  const bool same = finding == finding_of(verdict);
  if (same && verdict.refutation && !run.shows(*verdict.refutation)) {
    finding.rule += ", which the counterexample does not show";
  }
  return finding;
}

}  // namespace p2
