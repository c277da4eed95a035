#include "proofs/api/reference_run.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "engine/base/invariant.h"
#include "engine/collective/language/definition.h"
#include "engine/collective/language/interpreter.h"
#include "engine/program/derivation.h"
#include "engine/program/goal.h"
#include "p2/error.h"
#include "proofs/api/engines.h"

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
  return cells > ReferenceRun::kMaxWork ? cells : cells * (squares + program.devices);
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
  if (work(program) > kMaxWork) {
    answer_.rule = "too large for the reference interpreter";
    return;
  }
  states_ = ReferenceStates::begin(program);
  goal_ = states_.goal(program);
  for (const Step& step : program.steps) {
    ++answer_.step;
    if (!run_step(step, dialect, definitions, limits)) return;
  }
  check_goal();
}

bool ReferenceRun::run_step(const Step& step, Dialect dialect,
                            std::span<const Definition> definitions, const Limits& limits) {
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

void ReferenceRun::check_goal() {
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
  answer_ = {"reference", Outcome::Established, 0, {}};
}

bool ReferenceRun::refuse(const char* rule, const Group& group) {
  answer_.outcome = Outcome::Refuted;
  answer_.rule = rule;
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
  if (answer_.outcome != Outcome::Refuted || answer_.step != refutation.step ||
      answer_.rule != rule_name(refutation) || group_ != refutation.group) {
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

EngineAnswer reference_answer(const Program& program, Dialect dialect,
                              const ProgramDecision& decision, const Limits& limits) {
  const ReferenceRun run(program, dialect, program.terms.collectives.definitions(), limits);
  EngineAnswer answer = run.answer();
  const bool same = same_decision(answer, engine_answer(decision));
  if (same && decision.violation && !run.shows(*decision.violation)) {
    answer.rule += ", which the counterexample does not show";
  }
  return answer;
}

ReferenceStates ReferenceStates::begin(const Program& program) {
  ReferenceStates states;
  states.states_ = GroupState(program.devices, program.chunks(), program.devices);
  for (std::uint32_t d = 0; d < program.devices; ++d) {
    for (std::uint32_t r = 0; r < program.chunks(); ++r) states.states_.set(d, r, d, true);
  }
  if (const auto prepared = preparation(program.beginning.start)) {
    states.run_on_classes(language::built_in(to_string(*prepared)), program);
  }
  return states;
}

ReferenceStates ReferenceStates::goal(const Program& program) const {
  ReferenceStates goal = *this;
  if (program.terms.goal.is_allreduce()) {
    goal.put_sums(program);
  } else {
    goal.run_on_classes(program.terms.goal.definition(), program);
  }
  return goal;
}

void ReferenceStates::run_on_classes(const language::Definition& definition,
                                     const Program& program) {
  for (const Group& members : program.classes) {
    if (members.size() > 1) put(members, post_state(definition, of(members)));
  }
}

void ReferenceStates::put_sums(const Program& program) {
  for (const Group& members : program.classes) {
    for (const std::uint32_t d : members) {
      for (std::uint32_t r = 0; r < chunks(); ++r) {
        for (const std::uint32_t c : members) states_.set(d, r, c, true);
      }
    }
  }
}

GroupState ReferenceStates::of(const Group& group) const {
  GroupState state(static_cast<std::uint32_t>(group.size()), chunks(), contributors());
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    for (std::uint32_t r = 0; r < chunks(); ++r) {
      for (std::uint32_t c = 0; c < contributors(); ++c) {
        state.set(i, r, c, states_.holds(group[i], r, c));
      }
    }
  }
  return state;
}

void ReferenceStates::put(const Group& group, const GroupState& state) {
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    for (std::uint32_t r = 0; r < chunks(); ++r) {
      for (std::uint32_t c = 0; c < contributors(); ++c) {
        states_.set(group[i], r, c, state.holds(i, r, c));
      }
    }
  }
}

bool ReferenceStates::holds_chunk(std::uint32_t device, std::uint32_t chunk) const {
  for (std::uint32_t c = 0; c < contributors(); ++c) {
    if (states_.holds(device, chunk, c)) return true;
  }
  return false;
}

std::uint32_t ReferenceStates::chunks_held(std::uint32_t device) const {
  std::uint32_t held = 0;
  for (std::uint32_t r = 0; r < chunks(); ++r) held += holds_chunk(device, r) ? 1 : 0;
  return held;
}

void SoundSteps::require(const std::string& where, const Program& program,
                         std::size_t legal_steps) {
  const CollectiveSet& collectives = program.terms.collectives;
  const auto own = [](const Step& step) {
    return static_cast<std::size_t>(step.collective) >= kCollectives.size();
  };
  if (std::none_of(program.steps.begin(), program.steps.end(), own)) return;
  const std::uint64_t cells = std::uint64_t{program.devices} * program.devices * program.chunks();
  if (cells > ReferenceRun::kMaxWork) {
    throw LimitReached(LimitReached::Kind::Size,
                       where + ": the program is too large to see that its steps are sound");
  }
  if (limits_.exceeded(0)) {
    throw LimitReached(LimitReached::Kind::Time,
                       where + ": a limit was met before it was clear that steps are sound");
  }
  ReferenceStates states = ReferenceStates::begin(program);
  for (const Step& step :
       std::span(program.steps).first(std::min(legal_steps, program.steps.size()))) {
    const Definition& definition = collectives.definition_of(step.collective);
    for (const Group& group : step.groups) {
      const GroupState before = states.of(group);
      if (own(step)) require(where, definition, before);
      states.put(group, post_state(definition, before));
    }
  }
}

namespace {

/// What the positions of a group hold in one chunk.
std::vector<Contributors> rows_of(const GroupState& state, std::uint32_t chunk) {
  std::vector<Contributors> rows(state.devices());
  for (std::uint32_t i = 0; i < state.devices(); ++i) {
    for (std::uint32_t c = 0; c < state.contributors(); ++c) {
      if (state.holds(i, chunk, c)) rows[i].push_back(c);
    }
  }
  return rows;
}

/// The first row after a step that is no sum of rows of the group before it.
std::optional<std::string> row_that_is_no_sum(const GroupState& before, const GroupState& after) {
  for (std::uint32_t chunk = 0; chunk < before.chunks(); ++chunk) {
    const std::vector<Contributors> rows = rows_of(before, chunk);
    const std::vector<Contributors> results = rows_of(after, chunk);
    for (std::uint32_t i = 0; i < results.size(); ++i) {
      if (results[i].empty() || addends(rows, results[i], i)) continue;
      return fmt::format(
          "position {} ends with {} in chunk {}, and no rows that the group held there, none of "
          "them with a contribution in common, add up to it",
          i, to_string(results[i], 32), chunk);
    }
  }
  return std::nullopt;
}

}  // namespace

void SoundSteps::require(const std::string& where, const Definition& definition,
                         const GroupState& before) {
  std::vector<GroupState>& known = sound_[definition.name];
  if (std::find(known.begin(), known.end(), before) != known.end()) return;
  if (language::first_failed_premise(definition, before)) return;  // a group that holds nothing
  const auto refuse = [&](const char* claim, const std::string& why) {
    throw InputError({where}, fmt::format("{} is not sound for a group of {}, {} refuted: {}",
                                          definition.name, before.devices(), claim, why));
  };
  const GroupState after = post_state(definition, before);
  if (const auto wrong = row_that_is_no_sum(before, after)) refuse("realisable", *wrong);
  const std::uint64_t held = language::measure(definition, before);
  const std::uint64_t left = language::measure(definition, after);
  if (left <= held) refuse("measure", fmt::format("it is {} before and {} after", held, left));
  known.push_back(before);
}

}  // namespace p2
