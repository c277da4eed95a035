#include "engine/program/explanation.h"

#include <fmt/format.h>

#include "engine/program/notation.h"

namespace p2 {
namespace {

constexpr std::size_t kMostDevicesShown = 16;

/// What the failed premise demands and what was found instead.
std::string premise_story(const Refutation& refutation) {
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

/// What the failed premise of a user's collective demands, and for which devices, chunks and
/// contributors it does not hold.
std::string defined_story(const Refutation& refutation) {
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

std::string end_story(const Refutation& refutation, const Program& program) {
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
    return end_story(refutation, program);
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
                                        to_string(refutation.group, kMostDevicesShown));
  if (refutation.rule == Rule::Empty) {
    return fmt::format(
        "{}, is refused: no device of the group holds anything, and an instruction "
        "may not form such a group.",
        where);
  }
  return fmt::format(
      "{}, is refused by premise {}: {}.", where, rule_name(refutation),
      refutation.rule == Rule::Defined ? defined_story(refutation) : premise_story(refutation));
}

}  // namespace p2
