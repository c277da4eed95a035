// Equivalence of two modules, and of a module and its goal, with readable counterexamples.

#include "engine/hlo/equality/equivalence.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/equality/comparison.h"
#include "engine/hlo/equality/decisions.h"
#include "engine/hlo/flow.h"
#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/interpreter/execution.h"
#include "engine/hlo/operations.h"
#include "engine/hlo/shape_inference.h"

namespace p2::hlo {
namespace {

constexpr std::size_t kMaxGroupsShown = 4;

/// Throws InputError if a collective is among all devices and their number is unknown.
void require_devices(const Devices& devices, const Module& module) {
  if (!devices.assumed || devices.count() > 1) return;
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (is_collective(base_opcode(instruction.opcode)) &&
          instruction.attributes.groups.all_in_one && instruction.attributes.pairs.empty()) {
        throw InputError(instruction.position,
                         "a group of all devices, whose number is unknown, expected --replicas or "
                         "--partitions");
      }
    }
  }
}

std::string groups_text(const Collective& collective) {
  std::string text;
  const bool pairs = !collective.source.empty();
  std::size_t shown = 0;
  for (std::size_t i = 0; i < (pairs ? collective.source.size() : collective.groups.size()); ++i) {
    if (pairs && collective.source[i] == kNone) continue;
    if (shown++ == kMaxGroupsShown) return text + " …";
    const auto& group = pairs ? std::vector<std::uint32_t>{} : collective.groups[i];
    text += text.empty() ? "" : " ";
    text += pairs               ? fmt::format("{}→{}", collective.source[i], i)
            : group.size() > 16 ? fmt::format("{{{},{},…,{}}}", group[0], group[1], group.back())
                                : fmt::format("{{{}}}", fmt::join(group, ","));
  }
  return text;
}

/// The numbers of partitions, where both headers give one and they differ.
std::optional<std::string> partition_mismatch(const Module& before, const Module& after,
                                              const DeviceCounts& requested) {
  if (requested.partitions || !before.partitions || !after.partitions) return std::nullopt;
  if (*before.partitions == *after.partitions) return std::nullopt;
  if (*before.partitions == 1 || *after.partitions == 1) return std::nullopt;
  return fmt::format("The modules are for {} partitions before and {} after.", *before.partitions,
                     *after.partitions);
}

/// Of modules that take more operations on elements, evidence is asked for before they are
/// executed.
constexpr double kRelatedFirst = 1e6;

/// The decision about the outputs.
ModuleDecision decide_outputs(const std::shared_ptr<const Module>& before,
                              const std::shared_ptr<const Module>& after, const Devices& devices,
                              const ModuleRelation& relation, const ComparisonOptions& options,
                              const Limits& limits) {
  ModuleDecision decision;
  const bool stricter = options.equality != FloatEquality::Real;
  const auto is_large = [&] {
    return estimated_operations(*before, devices) + estimated_operations(*after, devices) >
           kRelatedFirst;
  };
  const bool may_have_evidence = options.evidence && !stricter && !options.ordered &&
                                 options.engine == ModuleEngine::Default && !relation.mismatch &&
                                 !relation.is_ambiguous;
  bool is_proved = false;
  const auto is_evident = [&] {
    auto evidence = options.evidence(relation, devices);
    if (!evidence) return false;
    decision = {};
    decision.devices = devices;
    decision.assumed = std::move(evidence->assumed);
    decision.read_as = std::move(evidence->read_as);
    decision.finite = std::move(evidence->finite);
    is_proved = true;
    return true;
  };
  const bool asked_first = may_have_evidence && (options.wants_evidence || is_large());
  if (asked_first && is_evident()) {
    // It is a proof.
  } else if (stricter && are_identical(before, after, devices, relation, limits)) {
    decision.devices = devices;
    decision.equality = options.equality;
  } else {
    const auto decide = [&](ModuleEngine engine) {
      ComparisonOptions own = options;
      own.engine = engine;
      ModuleDecision found = compare_under_relation(before, after, devices, relation, own, limits);
      if (!options.ordered) accept_if_bitwise_equal(found, *before, *after, relation, limits);
      return found;
    };
    const bool asked_last = may_have_evidence && !asked_first;
    try {
      decision = decide(options.engine);
    } catch (const LimitReached&) {
      if (!asked_last || !is_evident()) throw;
    }
    const bool is_open = decision.outcome == Outcome::Undecided ||
                         (decision.violation && decision.violation->may_be_rounding);
    if (is_open && asked_last) is_evident();
    if (options.engine == ModuleEngine::All && options.solver && !options.ordered) {
      decision = agreed(std::move(decision), decide(ModuleEngine::Solver));
    }
    if (stricter && decision.outcome == Outcome::Established) {
      require_stricter_equality(decision, *before, *after, relation, options.equality, limits);
    }
    if (decision.outcome == Outcome::Undecided) decision.equality = options.equality;
  }
  // Executions keep promises; what else refutes does not look at them.
  if (decision.outcome == Outcome::Refuted && decision.violation &&
      decision.violation->rule != "value") {
    if (const auto promise = promise_in(*before)) {
      decision.outcome = Outcome::Undecided;
      decision.violation.reset();
      decision.reason =
          "The modules differ, but perhaps only at indices that are not as the module before "
          "promises.";
      decision.unknown = {unknown_operation(*before, *promise->instruction, promise->reason)};
    }
  }
  if (decision.outcome != Outcome::Established) return decision;
  auto open = new_openness(*before, *after);
  // What the module after promises follows, in a proof, from what the one before does.
  if (!open && !is_proved) {
    open = promise_in(*after);
    if (open && may_have_evidence && !asked_first && is_evident()) open.reset();
  }
  if (open && !are_identical(before, after, devices, relation, limits)) {
    decision.outcome = Outcome::Undecided;
    decision.reason =
        "The values are equal, but one of the modules leaves open more than the other.";
    const Module& module = has_instruction(*before, open->instruction) ? *before : *after;
    decision.unknown = {unknown_operation(module, *open->instruction, open->reason)};
  }
  return decision;
}

/// Modules with equal outputs are not equal if what they do beside them differs, or may differ.
void require_same_effects(ModuleDecision& decision, const Module& before, const Module& after,
                          const ModuleRelation& relation, const ComparisonOptions& options,
                          const Limits& limits) {
  const auto effects = compare_effects(before, after);
  if (!effects) return;
  const bool comparable = effects->before && relation.before == relation.after && !options.relation;
  if (comparable) {
    const ModuleRelation all = relation_of(*effects->before, *effects->after, decision.devices);
    ComparisonOptions own = options;
    own.evidence = {};  // it is about the modules without what they do beside their outputs
    const ModuleDecision further =
        decide_outputs(effects->before, effects->after, decision.devices, all, own, limits);
    if (further.outcome == Outcome::Established) return;
  }
  const Module& module = has_instruction(before, effects->first) ? before : after;
  decision.outcome = Outcome::Undecided;
  decision.reason = "The outputs are equal; whether the modules do the same beside them is open.";
  decision.unknown = {unknown_operation(module, *effects->first, "it has a side effect")};
}

/// Whether a module looks at the bits of floating-point numbers, and has inputs of few of them.
bool takes_bits_of_rounded(const Module& module) {
  const auto is_narrow = [](const ArrayShape& shape) {
    return shape.type.is_float() && shape.type.bits() <= 16;
  };
  const Computation& entry = module.entry_computation();
  const bool has_narrow = std::ranges::any_of(entry.parameters, [&](std::uint32_t each) {
    return std::ranges::any_of(entry.instructions[each].shape.arrays(), is_narrow);
  });
  const auto takes_bits = [](const Computation& computation) {
    return std::ranges::any_of(computation.instructions, [&](const Instruction& each) {
      return each.opcode == "bitcast-convert" && !each.operands.empty() &&
             computation.instructions[each.operands[0]].shape.array.type.is_float();
    });
  };
  return has_narrow && std::ranges::any_of(module.computations, takes_bits);
}

/// What else there is to say about a difference takes at most this long to find.
constexpr std::chrono::milliseconds kHintTime{1000};

/// A difference that refutes nothing, and why.
void withdraw(ModuleDecision& decision, std::string_view why) {
  decision.outcome = Outcome::Undecided;
  decision.reason =
      fmt::format("{} This does not refute: {}.", decision.violation->explanation, why);
  decision.violation.reset();
}

}  // namespace

ModuleDecision compare(const std::shared_ptr<const Module>& first,
                       const std::shared_ptr<const Module>& second,
                       const ComparisonOptions& options, const Limits& limits) {
  const auto [before, after] = with_exact_constants({first, second});
  const Devices devices = devices_of({before.get(), after.get()}, options.devices);
  require_devices(devices, *before);
  require_devices(devices, *after);
  if (auto mismatch = partition_mismatch(*before, *after, options.devices)) {
    return different_signatures(devices, std::move(*mismatch));
  }
  auto relation = std::make_shared<const ModuleRelation>(
      options.relation
          ? read_relation(options.relation_file, *options.relation, *before, *after, devices)
          : relation_of(*before, *after, devices));
  const auto replicated = [&]() -> std::optional<ModuleRelation> {
    if (!relation->is_partitioned() || relation->mismatch || options.relation) return std::nullopt;
    return with_replicated_inputs(*relation, *before, devices);
  };
  const auto of_free_inputs = relation;
  if (options.replicated_inputs) {
    if (auto found = replicated())
      relation = std::make_shared<const ModuleRelation>(std::move(*found));
  }
  const auto decide = [&](const ModuleRelation& by, const Limits& within) {
    try {
      check_shapes(*before);
      check_shapes(*after);
      ModuleDecision found = decide_outputs(before, after, devices, by, options, within);
      if (found.outcome == Outcome::Established)
        require_same_effects(found, *before, *after, by, options, within);
      return found;
    } catch (const IllFormed& error) {
      return ill_formed(error.fault, devices);
    }
  };
  ModuleDecision decision = decide(*relation, limits);
  if (decision.outcome == Outcome::Undecided && relation != of_free_inputs) {
    ModuleDecision of_all = decide(*of_free_inputs, limits);
    if (of_all.outcome == Outcome::Established) {
      decision = std::move(of_all);
      relation = of_free_inputs;
    }
  }
  if (decision.violation && decision.violation->element && !options.replicated_inputs) {
    const auto found = replicated();
    try {
      if (found && decide(*found, limits.within(kHintTime)).outcome == Outcome::Established)
        decision.violation->explanation +=
            " For inputs that are the same on several devices, as the module before says, the "
            "modules are equal (--replicated-inputs).";
    } catch (const LimitReached&) {  // nothing more to say
    }
  }
  if (decision.violation && decision.violation->element &&
      (takes_bits_of_rounded(*before) || takes_bits_of_rounded(*after))) {
    withdraw(decision,
             "bits of numbers are used, and inputs of 16 bits or fewer are drawn with more digits "
             "than they have");
  }
  if (decision.violation && decision.violation->may_be_rounding) {
    withdraw(
        decision,
        "it may be an effect of double precision, in which a number was rounded near a pole of "
        "a function, or is too large or too small");
  }
  for (const auto& [module, form] :
       {std::pair(before, relation->before), {after, relation->after}}) {
    const double shared = form == Form::Global ? devices.count() : 1;
    decision.operations += estimated_operations(*module, devices) / shared;
  }
  decision.programs = after->programs.size();
  decision.before = relation->before;
  decision.after = relation->after;
  decision.placements = relation->placements;
  decision.relation = relation;
  return decision;
}

std::variant<std::shared_ptr<const Module>, ModuleDecision> linked(
    const std::vector<PlacedProgram>& programs, const DeviceCounts& counts, const Limits& limits) {
  const Devices devices{counts.replicas.value_or(1), counts.partitions.value_or(1)};
  ModuleDecision decision;
  try {
    const std::shared_ptr<const Module> module = link_programs(programs, devices.count());
    decision = check_well_formed(module, counts, limits);
    if (decision.outcome != Outcome::Refuted) return module;
  } catch (const IllFormed& error) {
    decision = ill_formed(error.fault, devices);
  } catch (const interpreter::NotUnderstood& error) {
    const SourcePosition& where = error.instruction->position;
    decision = undecided(devices, fmt::format("Not understood: {} ({}:{}).", error.what(),
                                              where.source, where.line));
    for (const PlacedProgram& program : programs) {
      if (!has_instruction(*program.module, error.instruction)) continue;
      decision.unknown = {unknown_operation(*program.module, *error.instruction, error.why)};
    }
  }
  decision.programs = programs.size();
  return decision;
}

ModuleDecision check_well_formed(std::shared_ptr<const Module> module, const DeviceCounts& devices,
                                 const Limits& limits) {
  ModuleDecision decision;
  decision.devices = devices_of({module.get()}, devices);
  Fingerprints fingerprints;
  try {
    check_shapes(*module);
    const Flow flow = flow_of(std::move(module), decision.devices, fingerprints, limits);
    for (const Node& node : flow.nodes) {
      if (node.collective == kNone) continue;
      decision.collectives.push_back({node.instruction->name, node.instruction->opcode,
                                      to_string(node.instruction->shape),
                                      groups_text(flow.collectives[node.collective])});
    }
  } catch (const IllFormed& error) {
    return ill_formed(error.fault, decision.devices);
  }
  return decision;
}

}  // namespace p2::hlo
