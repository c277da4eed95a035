#include "engine/program/derivation.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/invariant.h"
#include "engine/program/program.h"

namespace p2 {
namespace {

bool holds_nothing(std::span<const StateId> group) {
  return std::all_of(group.begin(), group.end(), [](StateId s) { return s == kHoldsNothing; });
}

/// The refutation for a device whose final state differs from the goal: its first differing chunk.
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

/// The refutation, without its group, for a group that the kernels refuse.
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

ProgramDecision check(const Program& program, Dialect dialect, StateTable& states,
                      const Limits& limits, const Observer& observe) {
  Kernels kernels(states, program.terms.collectives, program.devices);
  return check(program, dialect, states, kernels, limits, observe);
}

ProgramDecision check(const Program& program, Dialect dialect, StateTable& states, Kernels& kernels,
                      const Limits& limits, const Observer& observe) {
  auto [state, goal] =
      ends_of(program.terms.goal, program.beginning, program.classes, program.devices, states);
  ProgramDecision decision;
  const auto refuted = [&](Refutation refutation, std::size_t step) {
    refutation.step = step;
    decision.outcome = Outcome::Refuted;
    decision.violation = std::move(refutation);
    return decision;
  };
  if (observe) observe(0, state);
  for (const Step& step : program.steps) {
    if (limits.exceeded(limits.memory_bytes ? states.bytes() + kernels.bytes() : 0)) {
      decision.outcome = Outcome::Undecided;
      return decision;
    }
    auto refutation = run_step(step, dialect, state, states, kernels);
    if (refutation) return refuted(std::move(*refutation), decision.legal_steps + 1);
    ++decision.legal_steps;
    if (observe) observe(decision.legal_steps, state);
  }
  for (std::uint32_t device = 0; device < program.devices; ++device) {
    if (state[device] == goal[device]) continue;
    return refuted(end_difference(device, state[device], goal[device], states),
                   program.steps.size());
  }
  return decision;
}

namespace {

constexpr std::size_t kMaxDevicesShown = 16;

/// What the failed premise requires and what was found.
std::string explain_premise(const Refutation& refutation) {
  const Refusal& r = refutation.refusal;
  const std::uint32_t a = refutation.group[r.first];
  const std::uint32_t b = refutation.group[r.second];
  switch (r.premise) {
    case Premise::SameChunks:
      return fmt::format(
          "all devices of the group must hold the same chunks, but device {} holds "
          "chunk {} and device {} does not ({} and {} chunks held), so different "
          "chunks would be mixed",
          a, r.chunk, b, r.first_count, r.second_count);
    case Premise::Disjoint:
      return fmt::format(
          "no contribution may be counted twice, but devices {} and {} both hold the "
          "contribution of device {} in chunk {}",
          a, b, r.contributor, r.chunk);
    case Premise::Divisible:
      return fmt::format(
          "the number of chunks held must be divisible by the group size, but the "
          "sum has {} chunks for {} devices (device {} is the first)",
          r.first_count, refutation.group.size(), a);
    case Premise::DisjointChunks:
      return fmt::format(
          "no two devices may hold the same chunk, but devices {} and {} both hold "
          "chunk {}",
          a, b, r.chunk);
    case Premise::EqualCount:
      return fmt::format(
          "all devices must hold equally many chunks, but device {} holds {} and "
          "device {} holds {}",
          a, r.first_count, b, r.second_count);
    case Premise::Contained:
      return fmt::format(
          "the first device must hold whatever the others hold, but device {} lacks "
          "the contribution of device {} in chunk {}, which device {} would lose",
          a, r.contributor, r.chunk, b);
    case Premise::Informative:
      return fmt::format(
          "some device must learn something, but all devices already hold what "
          "device {} holds",
          a);
  }
  return {};
}

/// What the failed premise of a user-defined collective requires, and the falsifying assignment.
std::string explain_defined_premise(const Refutation& refutation) {
  std::string where;
  for (const language::Binding& binding : refutation.defined.witness) {
    where += where.empty() ? ", which is not so for " : ", ";
    switch (binding.sort) {
      case language::Sort::Position:
        where += fmt::format("{} = device {}", binding.name, refutation.group[binding.value]);
        break;
      case language::Sort::Chunk:
        where += fmt::format("{} = chunk {}", binding.name, binding.value);
        break;
      case language::Sort::Contributor:
        where += fmt::format("{} = the contribution of device {}", binding.name, binding.value);
        break;
    }
  }
  return refutation.defined.description + (where.empty() ? ", which is not so" : where);
}

std::string explain_end(const Refutation& refutation, const Program& program) {
  std::string steps = fmt::format("All {} steps are legal", program.steps.size());
  if (program.steps.size() == 1) steps = "The step is legal";
  if (program.steps.empty()) steps = "The program has no steps";
  const bool lacks = refutation.rule == Refutation::Rule::Lacks;
  const bool allreduce = program.terms.goal.is_allreduce();
  const std::string_view where =
      lacks ? (allreduce ? "is in its reduction class" : "belongs there")
            : (allreduce ? "is not in its reduction class" : "does not belong there");
  return fmt::format(
      "{}, but the program does not end in the goal{}: device {} {} the contribution of device {}, "
      "which {}, in chunk {}.",
      steps, allreduce ? "" : " " + program.terms.goal.name, refutation.device,
      lacks ? "lacks" : "has", refutation.contributor, where, refutation.chunk);
}

}  // namespace

std::string_view rule_name(const Refutation& refutation) {
  switch (refutation.rule) {
    case Refutation::Rule::Premise:
      return name_of(refutation.refusal.premise);
    case Refutation::Rule::Defined:
      return refutation.defined.premise;
    case Refutation::Rule::Master:
      return "master";
    case Refutation::Rule::Empty:
      return "empty-group";
    case Refutation::Rule::Lacks:
      return "goal-lacks";
    case Refutation::Rule::Excess:
      return "goal-excess";
  }
  return {};
}

std::string explain(const Refutation& refutation, const Program& program,
                    const Instance* instance) {
  using Rule = Refutation::Rule;
  if (refutation.rule == Rule::Lacks || refutation.rule == Rule::Excess) {
    return explain_end(refutation, program);
  }
  const Step& step = program.steps[refutation.step - 1];
  const CollectiveSet& collectives = program.terms.collectives;
  const std::string name(collectives.name_of(step.collective));
  const std::string written =
      step.shape && instance != nullptr ? " (" + to_string(step, instance, collectives) + ")" : "";
  if (refutation.rule == Rule::Master) {
    return fmt::format(
        "Step {}{} is refused: dialect published allows only AllReduce with Master, "
        "not {} (dialect printed allows all collectives).",
        refutation.step, written, name);
  }
  const std::string where = fmt::format("Step {}{}, {} on group {}", refutation.step, written, name,
                                        to_string(refutation.group, kMaxDevicesShown));
  if (refutation.rule == Rule::Empty) {
    return fmt::format(
        "{}, is refused: no device of the group holds anything, and an instruction "
        "may not form such a group.",
        where);
  }
  return fmt::format("{}, is refused by premise {}: {}.", where, rule_name(refutation),
                     refutation.rule == Rule::Defined ? explain_defined_premise(refutation)
                                                      : explain_premise(refutation));
}

namespace {

constexpr std::uint32_t kMaxMatrices = 8;
constexpr std::size_t kMaxLines = 16;
constexpr std::size_t kMaxMembers = 16;

bool contains(const IndexSetTable& sets, IndexSetId set, std::uint32_t index) {
  const auto runs = sets.runs(set);
  return std::any_of(runs.begin(), runs.end(),
                     [&](const Run& run) { return run.begin <= index && index < run.end; });
}

std::string draw_matrices(const SystemState& state, const StateTable& states) {
  const auto devices = static_cast<std::uint32_t>(state.size());
  const std::size_t width = std::max<std::size_t>(devices, 2) + 2;
  std::string drawing = "   ";
  for (std::uint32_t d = 0; d < devices; ++d) {
    drawing += fmt::format("{:<{}}", fmt::format("d{}", d), d + 1 < devices ? width : 0);
  }
  for (std::uint32_t chunk = 0; chunk < states.chunks(); ++chunk) {
    drawing += "\n   ";
    for (std::uint32_t d = 0; d < devices; ++d) {
      const IndexSetId row = states.row(state[d], chunk);
      for (std::uint32_t c = 0; c < devices; ++c) {
        drawing += contains(states.sets(), row, c) ? "█" : "·";
      }
      if (d + 1 < devices) drawing += std::string(width - devices, ' ');
    }
  }
  return drawing + "\n";
}

std::string draw_runs(const IndexSetTable& sets, IndexSetId set) {
  std::string text;
  std::size_t shown = 0;
  for (const Run& run : sets.runs(set)) {
    if (shown++ == kMaxMembers) return text + ",…";
    if (!text.empty()) text += ",";
    text += run.end - run.begin == 1 ? fmt::format("{}", run.begin)
                                     : fmt::format("{}–{}", run.begin, run.end - 1);
  }
  return text;
}

std::string draw_device(std::uint32_t device, StateId state, const StateTable& states) {
  if (state == kHoldsNothing) return fmt::format("   d{:<5} nothing\n", device);
  std::string drawing;
  for (const Piece& piece : states.pieces(state)) {
    drawing += fmt::format("   d{:<5} chunks {:<12} from {}\n", device,
                           draw_runs(states.sets(), piece.chunks),
                           draw_runs(states.sets(), piece.contributors));
  }
  return drawing;
}

}  // namespace

std::string draw_state(const SystemState& state, const StateTable& states,
                       const std::vector<Group>& classes) {
  if (state.size() <= kMaxMatrices) return draw_matrices(state, states);
  std::string drawing;
  const Group& shown = classes.front();
  for (std::size_t i = 0; i < std::min(shown.size(), kMaxLines); ++i) {
    drawing += draw_device(shown[i], state[shown[i]], states);
  }
  const std::size_t hidden = state.size() - std::min(shown.size(), kMaxLines);
  if (hidden > 0) drawing += fmt::format("   … and {} more devices\n", hidden);
  return drawing;
}

std::string draw_derivation(const Program& program, Dialect dialect, const Instance* instance,
                            const Limits& limits) {
  StateTable states(program.chunks());
  std::string drawing;
  SystemState last;
  const auto draw = [&](std::size_t step, const SystemState& state) {
    drawing +=
        step == 0
            ? std::string("start\n")
            : fmt::format("after step {}: {}\n", step,
                          to_string(program.steps[step - 1], instance, program.terms.collectives));
    drawing += draw_state(state, states, program.classes);
    last = state;
  };
  const ProgramDecision verdict = check(program, dialect, states, limits, draw);
  if (verdict.outcome == Outcome::Undecided) return drawing + "stopped at a limit\n";
  if (!verdict.violation) return drawing;
  if (program.devices > kMaxMatrices) {
    const Refutation& refutation = *verdict.violation;
    const Group shown = refutation.group.empty() ? Group{refutation.device} : refutation.group;
    drawing += "where it breaks\n";
    for (std::size_t i = 0; i < std::min(shown.size(), kMaxLines); ++i) {
      drawing += draw_device(shown[i], last[shown[i]], states);
    }
  }
  return drawing + explain(*verdict.violation, program, instance) + "\n";
}

}  // namespace p2
