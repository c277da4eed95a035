// Senses stricter than that of real numbers: the same operations on the same operands, whatever the
// sizes, by hash consing of data-flow graphs; or by random interpretation.

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/equality/comparison.h"
#include "engine/hlo/interpreter/execution.h"

namespace p2::hlo {
namespace {

/// All that decides the results of a node but its operands; nothing for one of which two executions
/// may differ.
std::optional<std::string> text_of(const Flow& flow, const Node& node) {
  if (node.impure) return std::nullopt;
  const Attributes& attributes = node.instruction->attributes;
  std::string text = node.op == Op::Parameter
                         ? fmt::format("parameter {}", node.parameter)
                         : fmt::format("{} {} {} {} {}", static_cast<int>(node.op),
                                       base_opcode(node.instruction->opcode), node.fingerprint,
                                       node.called, attributes.accuracy);
  // Layouts decide what a bitcast is; a custom call may look at them and at shardings.
  const bool opaque = node.op == Op::Opaque;
  if (opaque && node.instruction->opcode == "bitcast") return std::nullopt;
  for (const ArrayShape& shape : node.outputs) {
    text += " " + to_string(shape);
    if (opaque) text += fmt::format("{{{}}}", fmt::join(shape.minor_to_major, ","));
  }
  if (opaque) {
    text += " " + attributes.sharding;
    for (const auto& [name, value] : attributes.shardy) text += fmt::format(" {}={}", name, value);
  }
  if (node.collective != kNone) {
    const Collective& collective = flow.collectives[node.collective];
    for (const auto& group : collective.groups) text += fmt::format(" ({})", fmt::join(group, ","));
    text += fmt::format(" from {}", fmt::join(collective.source, ","));
  }
  return text;
}

/// The outputs as numbers, equal for equal operations on equal operands.
std::optional<std::vector<std::uint32_t>> outputs_of(const Flow& flow, Fingerprints& fingerprints) {
  std::vector<std::uint32_t> numbers;
  const auto number_of = [&](Ref ref) {
    return fingerprints.intern(fmt::format("output {} of {}", ref.output, numbers[ref.node]));
  };
  for (const Node& node : flow.nodes) {
    std::optional<std::string> text = text_of(flow, node);
    if (!text) return std::nullopt;
    for (const Ref operand : node.operands) *text += fmt::format(" #{}", number_of(operand));
    numbers.push_back(fingerprints.intern("node " + *text));
  }
  std::vector<std::uint32_t> outputs;
  for (const Ref ref : flow.outputs) outputs.push_back(number_of(ref));
  return outputs;
}

/// By random interpretation in a stricter sense than that of real numbers, of large modules with
/// reduced dimensions; not beyond `most` operations on elements.
ModuleDecision decide_rounded(const Module& before, const Module& after, const Devices& devices,
                              const ModuleRelation& relation, FloatEquality equality, double most,
                              const Limits& limits) {
  const auto decide = [&](const Module& first, const Module& second, const ModuleRelation& by,
                          double operations) {
    if (operations > most) {
      return undecided(devices, fmt::format("executing the modules takes some {:.0g} operations on "
                                            "elements, more than {:.0g}.",
                                            operations, most));
    }
    try {
      return compare_rounded(first, second, devices, by, equality,
                             static_cast<std::uint64_t>(20 * kMaxOperations),
                             within_memory(limits));
    } catch (const LimitReached& limit) {
      return undecided(devices, fmt::format("{}.", limit.what()));
    }
  };
  const auto decide_under = [&](const ModuleRelation& by) {
    return decide_reduced(before, after, devices, by, equality, kExecutedFirst, decide);
  };
  ModuleDecision decision = decide_under(relation);
  if (decision.outcome == Outcome::Established && relation.is_ambiguous) {
    return decide_under(ModuleRelation{});
  }
  return decision;
}

}  // namespace

ModuleDecision undecided(const Devices& devices, std::string reason) {
  ModuleDecision decision;
  decision.outcome = Outcome::Undecided;
  decision.devices = devices;
  decision.reason = std::move(reason);
  return decision;
}

Limits within_memory(Limits limits) {
  if (!limits.memory_bytes && physical_memory() != 0) limits.memory_bytes = physical_memory() / 2;
  return limits;
}

bool are_identical(const std::shared_ptr<const Module>& before,
                   const std::shared_ptr<const Module>& after, const Devices& devices,
                   const ModuleRelation& relation, const Limits& limits) {
  if (!relation.is_partitioned() || relation.mismatch) return false;
  Fingerprints fingerprints;
  const auto first = outputs_of(flow_of(before, devices, fingerprints, limits), fingerprints);
  return first && first == outputs_of(flow_of(after, devices, fingerprints, limits), fingerprints);
}

namespace {

/// Whether every output is a sum of inputs: modules of which these differ do so on small integers,
/// on which nothing is rounded.
bool sums_inputs(const Module& module) {
  constexpr std::array<std::string_view, 9> kOpcodes = {
      "parameter",           "add",        "tuple",      "reshape",
      "transpose",           "all-gather", "all-reduce", "reduce-scatter",
      "collective-broadcast"};
  return std::ranges::all_of(module.computations, [&](const Computation& computation) {
    return std::ranges::all_of(computation.instructions, [&](const Instruction& each) {
      return std::ranges::find(kOpcodes, each.opcode) != kOpcodes.end();
    });
  });
}

}  // namespace

void accept_if_bitwise_equal(ModuleDecision& decision, const Module& before, const Module& after,
                             const ModuleRelation& relation, const Limits& limits) {
  const bool of_values = decision.violation && decision.violation->element;
  if (decision.outcome != Outcome::Refuted || !of_values) return;
  if (sums_inputs(before) && sums_inputs(after)) return;
  ModuleDecision strict = decide_rounded(before, after, decision.devices, relation,
                                         FloatEquality::Bitwise, kMaxOperations, limits);
  if (strict.outcome != Outcome::Established) return;
  strict.equality = FloatEquality::Bitwise;
  decision = std::move(strict);
}

void require_stricter_equality(ModuleDecision& decision, const Module& before, const Module& after,
                               const ModuleRelation& relation, FloatEquality asked,
                               const Limits& limits) {
  const auto decide = [&](FloatEquality equality) {
    return decide_rounded(before, after, decision.devices, relation, equality, kMaxAttempted,
                          limits);
  };
  const ModuleDecision strict = decide(asked);
  decision.uninterpreted = strict.uninterpreted;
  decision.reduced = strict.reduced;
  if (strict.outcome == Outcome::Established) {
    decision.equality = asked;
    return;
  }
  decision.shown = FloatEquality::Real;
  if (asked == FloatEquality::Bitwise &&
      decide(FloatEquality::Reassociated).outcome == Outcome::Established) {
    decision.shown = FloatEquality::Reassociated;
  }
  decision.outcome = Outcome::Undecided;
  decision.reason = fmt::format("Equal {}, not shown equal {}: {}", words_of(*decision.shown),
                                words_of(asked), strict.reason);
  decision.unknown = strict.unknown;
}

}  // namespace p2::hlo
