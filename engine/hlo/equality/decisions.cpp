// Decisions, and what they say.

#include "engine/hlo/equality/decisions.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/operations.h"

namespace p2::hlo {

UnknownOperation unknown_operation(const Module& module, const Instruction& instruction,
                                   const std::string& why) {
  const std::string target =
      instruction.opcode == "custom-call"
          ? " " + interpreter::text_attribute(instruction, "custom_call_target")
          : "";
  const bool elided = instruction.literal && instruction.literal->elided;
  return {instruction.name, instruction.opcode + target + (elided ? " {...}" : ""),
          instruction.position,
          elided && why.empty() ? "its elements are not in the text; "
                                  "--xla_dump_large_constants=true makes XLA print them"
                                : why,
          outputs_depending_on(module, instruction)};
}

ModuleDecision undecided(const Devices& devices, std::string reason) {
  ModuleDecision decision;
  decision.outcome = Outcome::Undecided;
  decision.devices = devices;
  decision.reason = std::move(reason);
  return decision;
}

ModuleDecision ill_formed(const Fault& fault, const Devices& devices) {
  ModuleDecision decision{{Outcome::Refuted, Difference{fault.rule, fault.reason}}};
  decision.violation->position = fault.position;
  decision.devices = devices;
  return decision;
}

ModuleDecision different_signatures(const Devices& devices, std::string reason) {
  ModuleDecision decision{{Outcome::Refuted, Difference{"signature", std::move(reason)}}};
  decision.devices = devices;
  return decision;
}

std::string explain(const ElementDifference& element) {
  return fmt::format(
      "On device {} (replica {}, partition {}), element [{}] of output {} is {} before, and {} "
      "after.",
      element.device, element.replica, element.partition, fmt::join(element.index, ","),
      element.output, element.before, element.after);
}

void contradict(ModuleDecision& refuted, const std::string& other) {
  if (refuted.violation->of_infinities) {
    refuted.outcome = Outcome::Undecided;
    refuted.reason =
        "Equal as functions of real numbers, but one of them is infinite or not a number where the "
        "other one is not.";
    refuted.violation.reset();
    return;
  }
  refuted.outcome = Outcome::Disagreement;
  refuted.reason = fmt::format("{} But {}.", refuted.violation->explanation, other);
}

}  // namespace p2::hlo
