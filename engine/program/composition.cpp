#include "engine/program/composition.h"

#include <set>

#include "engine/program/derivation.h"

namespace p2 {
namespace {

constexpr std::size_t kMaxSequence = 3;

/// The shortest sequence of built-in collectives on the groups of `step` that leads from `before`
/// to `after`: breadth first, each state once.
std::optional<std::vector<Step>> sequence(const Step& step, const SystemState& before,
                                          const SystemState& after, StateTable& states,
                                          Kernels& kernels) {
  struct Reached {
    SystemState state;
    std::vector<Step> steps;
  };
  std::set<SystemState> known = {before};
  std::vector<Reached> layer = {{before, {}}};
  for (std::size_t length = 0; length < kMaxSequence; ++length) {
    std::vector<Reached> next;
    for (const Reached& from : layer) {
      for (const Collective collective : kCollectives) {
        Step taken{collective, step.groups, step.shape};
        if (taken.shape && !allows(Dialect::Published, taken.shape->pattern, collective)) {
          taken.shape.reset();
        }
        Reached to = from;
        if (run_step(taken, Dialect::Printed, to.state, states, kernels)) continue;
        if (!known.insert(to.state).second) continue;
        to.steps.push_back(taken);
        if (to.state == after) return to.steps;
        next.push_back(std::move(to));
      }
    }
    layer = std::move(next);
  }
  return std::nullopt;
}

}  // namespace

BuiltInProgram built_in_program(const Program& program, bool keep_traffic) {
  BuiltInProgram found{program, {}};
  if (!program.terms.collectives.extended()) return found;
  found.program.steps.clear();
  StateTable states(program.chunks());
  Kernels kernels(states, program.terms.collectives, program.devices);
  SystemState state =
      ends_of(program.terms.goal, program.beginning, program.classes, program.devices, states)
          .begin;
  bool legal = true;
  bool kept = false;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    const SystemState before = state;
    legal = legal && !run_step(step, Dialect::Printed, state, states, kernels);
    std::vector<Step> steps = {step};
    if (keep_traffic && program.terms.collectives.definition_of(step.collective).traffic) {
      kept = true;
    } else if (!is_built_in(step.collective)) {
      auto stand_in = legal ? sequence(step, before, state, states, kernels) : std::nullopt;
      if (stand_in) steps = std::move(*stand_in);
      if (!stand_in && !found.missing) found.missing = i;
    }
    found.program.steps.insert(found.program.steps.end(), steps.begin(), steps.end());
  }
  if (!found.missing && !kept) found.program.terms.collectives = {};
  return found;
}

}  // namespace p2
