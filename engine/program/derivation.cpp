#include "engine/program/derivation.h"

#include <algorithm>

#include "engine/base/invariant.h"

namespace p2 {
namespace {

bool holds_nothing(std::span<const StateId> group) {
  return std::all_of(group.begin(), group.end(), [](StateId s) { return s == kHoldsNothing; });
}

/// The first chunk in which `held` and `wanted` differ, seen from one device.
Refutation end_difference(std::uint32_t device, StateId held, StateId wanted, StateTable& states) {
  IndexSetTable& sets = states.sets();
  for (std::uint32_t chunk = 0; chunk < states.chunks(); ++chunk) {
    const IndexSetId has = states.row(held, chunk);
    const IndexSetId should = states.row(wanted, chunk);
    if (has == should) continue;
    Refutation refutation;
    refutation.device = device;
    refutation.chunk = chunk;
    const IndexSetId excess = sets.subtract(has, should);
    refutation.rule = excess == 0 ? Refutation::Rule::Lacks : Refutation::Rule::Excess;
    refutation.contributor = sets.first(excess == 0 ? sets.subtract(should, has) : excess);
    return refutation;
  }
  invariant(false, "two states differ in no chunk");
  return {};
}

/// The premise for which the kernels refuse a group, without the group.
Refutation refused_premise(Collective collective, std::span<const StateId> before,
                           StateTable& states, const Kernels& kernels) {
  Refutation refutation;
  if (!is_built_in(collective)) {
    refutation.rule = Refutation::Rule::Defined;
    refutation.defined = kernels.defined().refusal(collective, before);
    return refutation;
  }
  const std::optional<Refusal> refusal = find_refusal(collective, before, states);
  invariant(refusal.has_value(), "a kernel refuses where no premise fails");
  refutation.refusal = *refusal;
  refutation.chunk = refusal->chunk;
  refutation.contributor = refusal->contributor;
  return refutation;
}

}  // namespace

std::optional<Refutation> run_step(const Step& step, Dialect dialect, SystemState& state,
                                   StateTable& states, Kernels& kernels) {
  Refutation refutation;
  if (step.shape && !allows(dialect, step.shape->pattern, step.collective)) {
    refutation.rule = Refutation::Rule::Master;
    return refutation;
  }
  std::vector<StateId> before;
  std::vector<StateId> after;
  for (const Group& group : step.groups) {
    before.clear();
    for (const std::uint32_t device : group) before.push_back(state[device]);
    after.resize(before.size());
    if (step.shape && holds_nothing(before)) {
      refutation.rule = Refutation::Rule::Empty;
      refutation.group = group;
      return refutation;
    }
    if (!kernels.apply(step.collective, before, after)) {
      refutation = refused_premise(step.collective, before, states, kernels);
      refutation.group = group;
      return refutation;
    }
    for (std::size_t i = 0; i < group.size(); ++i) state[group[i]] = after[i];
  }
  return std::nullopt;
}

Verdict check(const Program& program, Dialect dialect, StateTable& states, const Limits& limits,
              const Observer& observe) {
  Kernels kernels(states, program.terms.collectives, program.devices);
  return check(program, dialect, states, kernels, limits, observe);
}

Verdict check(const Program& program, Dialect dialect, StateTable& states, Kernels& kernels,
              const Limits& limits, const Observer& observe) {
  auto [state, goal] =
      ends_of(program.terms.goal, program.beginning, program.classes, program.devices, states);
  Verdict verdict;
  const auto refuted = [&](Refutation refutation, std::size_t step) {
    refutation.step = step;
    verdict.kind = Verdict::Kind::Invalid;
    verdict.refutation = std::move(refutation);
    return verdict;
  };
  if (observe) observe(0, state);
  for (const Step& step : program.steps) {
    if (limits.exceeded(states.bytes() + kernels.bytes())) {
      verdict.kind = Verdict::Kind::Unknown;
      return verdict;
    }
    auto refutation = run_step(step, dialect, state, states, kernels);
    if (refutation) return refuted(std::move(*refutation), verdict.legal_steps + 1);
    ++verdict.legal_steps;
    if (observe) observe(verdict.legal_steps, state);
  }
  for (std::uint32_t device = 0; device < program.devices; ++device) {
    if (state[device] == goal[device]) continue;
    return refuted(end_difference(device, state[device], goal[device], states),
                   program.steps.size());
  }
  return verdict;
}

}  // namespace p2
