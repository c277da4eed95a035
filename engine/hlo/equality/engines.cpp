// Which engines compare the outputs of two modules, in which order, and what their answers are
// together.

#include "engine/hlo/equality/decisions.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/equality/comparison.h"
#include "engine/hlo/flow.h"
#include "engine/hlo/interpreter/execution.h"

namespace p2::hlo {
namespace {

ElementDifference element_of(const ComparisonContext& context, const Mismatch& mismatch) {
  const Flow& flow = *context.flows[0];
  return {mismatch.device,
          mismatch.device / flow.devices.partitions,
          mismatch.device % flow.devices.partitions,
          mismatch.output,
          mismatch.index,
          text_of(context, flow, mismatch.before),
          text_of(context, flow, mismatch.after)};
}

/// The uninterpreted operations on which an output depends.
void add_unknown(ModuleDecision& decision, const Flow& flow, std::size_t output) {
  std::vector<bool> needed(flow.nodes.size(), false);
  if (output < flow.outputs.size()) needed[flow.outputs[output].node] = true;
  std::vector<const Instruction*> all;
  for (std::size_t i = flow.nodes.size(); i-- > 0;) {
    const Node& node = flow.nodes[i];
    if (!needed[i]) continue;
    for (const Ref operand : node.operands) needed[operand.node] = true;
    if (node.op == Op::Opaque) all.push_back(node.instruction);
  }
  for (std::size_t i = all.size(); i-- > 0;) {
    if (std::find(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(), all[i]) ==
        all.end()) {
      decision.unknown.push_back(unknown_operation(*flow.module, *all[i]));
    }
  }
}

/// Runs one comparison into `decision`, which stays as it is if all outputs are equal.
void compare_into(ModuleDecision& decision, ComparisonContext& context) {
  const OutputComparison comparison = compare_outputs(context);
  if (comparison.difference) {
    Difference difference{context.ordered ? "order" : "contributions", {}};
    difference.element = element_of(context, *comparison.difference);
    difference.explanation = explain(*difference.element);
    if (context.ordered) {
      difference.explanation += " The sums are equal, the orders of addition are not.";
    }
    decision.outcome = Outcome::Refuted;
    decision.violation = std::move(difference);
  } else if (comparison.undecided) {
    decision.outcome = Outcome::Undecided;
    decision.undecided_element = element_of(context, *comparison.undecided);
    decision.reason = explain(*decision.undecided_element) +
                      " Whether these are equal depends on uninterpreted operations.";
    for (const Flow* flow : context.flows)
      add_unknown(decision, *flow, comparison.undecided->output);
  } else if (comparison.limit) {
    decision.outcome = Outcome::Undecided;
    decision.reason = fmt::format("Undecided: {}.", *comparison.limit);
  }
}

/// compare(), or why it does not decide: also where the modules take more than `most` operations on
/// elements. `whose`: of that limit in the reason, if not of execution.
template <typename Compare>
ModuleDecision decide_within(double most, std::string_view whose, double operations,
                             const Devices& devices, const Compare& compare) {
  if (operations > most) {
    return undecided(devices, fmt::format("Undecided: executing the modules takes some {:.0g} "
                                          "operations on elements, more than {:.0g}{}.",
                                          operations, most, whose));
  }
  try {
    return compare();
  } catch (const LimitReached& limit) {
    return undecided(devices, fmt::format("Undecided: {}.", limit.what()));
  } catch (const IllFormed& error) {
    return ill_formed(error.fault, devices);
  }
}

/// By execution on all devices, of large modules with reduced dimensions; nothing where that is not
/// affordable.
std::optional<ModuleDecision> decide_by_execution(const Module& before, const Module& after,
                                                  const Devices& devices,
                                                  const ModuleRelation& relation,
                                                  const Limits& limits) {
  bool is_affordable = true;
  ModuleDecision decision = decide_reduced(
      before, after, devices, relation, FloatEquality::Real, kExecutedFirst,
      [&](const Module& first, const Module& second, const ModuleRelation& by, double operations) {
        is_affordable = !relation.is_partitioned() || operations <= kMaxOperations;
        if (!is_affordable) return ModuleDecision{};
        return decide_within(kMaxAttempted, "", operations, devices, [&] {
          return compare_by_execution(first, second, devices, by, operations,
                                      static_cast<std::uint64_t>(20 * kMaxOperations),
                                      within_memory(limits));
        });
      });
  return is_affordable ? std::optional(std::move(decision)) : std::nullopt;
}

/// Modules that take more operations on elements are too large for a solver.
constexpr double kMaxSolved = 1e6;

ModuleDecision decide_by_solver(const Module& before, const Module& after, const Devices& devices,
                                const ModuleRelation& relation, const ElementSolver& solver,
                                const Limits& limits) {
  return decide_reduced(
      before, after, devices, relation, FloatEquality::Real, 0,
      [&](const Module& first, const Module& second, const ModuleRelation& by, double operations) {
        return decide_within(kMaxSolved, " for a solver", operations, devices, [&] {
          return compare_by_solver(first, second, devices, by,
                                   static_cast<std::uint64_t>(20 * kMaxSolved), solver,
                                   within_memory(limits));
        });
      });
}

/// A refutation on inputs that are constant on blocks of indices; nothing where it finds none.
std::optional<ModuleDecision> refuted_on_blocks(const Module& before, const Module& after,
                                                const Devices& devices,
                                                const ModuleRelation& relation,
                                                const Limits& limits, bool every_number = false) {
  try {
    ModuleDecision decision =
        refute_on_blocks(before, after, devices, relation, within_memory(limits), every_number);
    if (decision.outcome == Outcome::Refuted) return decision;
  } catch (const LimitReached&) {  // the other engines may still decide
  }
  return std::nullopt;
}

/// By symbolic evaluation of regions, of floating-point sums also in their order.
ModuleDecision decide_by_regions(const std::vector<Flow>& flows, const ModuleRelation& relation,
                                 Fingerprints& fingerprints, bool ordered, const Limits& limits) {
  ModuleDecision decision;
  decision.devices = flows[0].devices;
  for (const bool in_order : {false, true}) {
    if (in_order && !ordered) break;
    ComparisonContext context{{&flows[0], &flows[1]}, fingerprints, limits, in_order};
    context.replication = relation.replication;
    context.values.on_work = [&](std::uint64_t units) { context.spend(units); };
    compare_into(decision, context);
    decision.uninterpreted.assign(context.uninterpreted.begin(), context.uninterpreted.end());
    if (decision.outcome != Outcome::Established) break;
  }
  return decision;
}

/// Two engines decide differently, of which one found the difference of `refuted`.
ModuleDecision disagreement(const ModuleDecision& refuted, const std::string& other) {
  ModuleDecision decision;
  decision.devices = refuted.devices;
  decision.violation = refuted.violation;
  contradict(decision, other);
  decision.violation.reset();
  return decision;
}

/// Explaining a difference that is known already takes at most this long.
constexpr std::chrono::milliseconds kExplanationTime{1000};

/// Modules of more than kExecutedFirst operations are evaluated symbolically with so much work that
/// execution still has its time.
constexpr std::uint64_t kWorkBeforeExecution = 30'000'000;

/// Whether a node has a result that is not the same on every device.
bool depends_on_device(const Node& node) {
  return node.collective != kNone || node.op == Op::PartitionId || node.op == Op::ReplicaId ||
         node.depends_on_devices;
}

/// What one comparison finds; whether it ended at a limit.
std::pair<ModuleDecision, bool> related_outputs(ComparisonContext& context,
                                                const Devices& devices) {
  const std::vector<const Flow*>& flows = context.flows;
  ModuleDecision decision;
  decision.devices = devices;
  const OutputComparison comparison = compare_related(context);
  decision.uninterpreted.assign(context.uninterpreted.begin(), context.uninterpreted.end());
  decision.assumed.assign(context.assumed.begin(), context.assumed.end());
  if (comparison.limit) {
    return {undecided(devices, fmt::format("Undecided: {}.", *comparison.limit)), true};
  }
  if (!comparison.undecided) return {decision, false};
  const Mismatch& mismatch = *comparison.undecided;
  decision.outcome = Outcome::Undecided;
  decision.reason = fmt::format(
      "Whether element [{}] of output {} is what device {} has of it is open: symbolic evaluation "
      "finds {} before partitioning, and {} after.",
      fmt::join(mismatch.index, ","), mismatch.output, mismatch.device,
      text_of(context, *flows[0], mismatch.before), text_of(context, *flows[0], mismatch.after));
  add_unknown(decision, *flows[0], mismatch.output);
  add_unknown(decision, *flows[1],
              context.relation->outputs[mismatch.output].number_on(mismatch.device));
  return {decision, false};
}

/// By symbolic evaluation of a module before partitioning and a partitioned one, in this order:
/// with names for the tensors of the former, else without.
ModuleDecision evaluated_relation(const std::vector<Flow>& flows, Fingerprints& fingerprints,
                                  const Devices& devices, const ModuleRelation& relation,
                                  bool executed_next, const Limits& limits) {
  const std::vector<Node>& nodes = flows[0].nodes;
  const auto local = std::find_if(nodes.begin(), nodes.end(), depends_on_device);
  if (local != nodes.end()) {
    ModuleDecision decision =
        undecided(devices, fmt::format("{} {} of the unpartitioned module depends on the device.",
                                       local->instruction->opcode, local->instruction->name));
    decision.unknown = {
        unknown_operation(*flows[0].module, *local->instruction, "it depends on the device")};
    return decision;
  }
  ModuleDecision decision;
  for (const bool names_tensors : {true, false}) {
    ComparisonContext context{{&flows[0], &flows[1]}, fingerprints, limits};
    context.values.on_work = [&](std::uint64_t units) { context.spend(units); };
    context.relation = &relation;
    context.values.joins_ranges = true;
    context.names_tensors = names_tensors;
    if (executed_next) context.most_work = kWorkBeforeExecution;
    auto [found, ends_at_limit] = related_outputs(context, devices);
    decision = std::move(found);
    if (decision.outcome == Outcome::Established || ends_at_limit) break;
  }
  return decision;
}

/// Compares a module before partitioning with a partitioned one.
ModuleDecision compare_with_unpartitioned(const std::shared_ptr<const Module>& before,
                                          const std::shared_ptr<const Module>& after,
                                          const Devices& devices, const ModuleRelation& relation,
                                          double operations, const ComparisonOptions& options,
                                          const Limits& limits) {
  const bool global_first = relation.before == Form::Global;
  // Whatever engine is used: what has no meaning is not executed.
  Fingerprints fingerprints;
  const std::vector<Flow> flows = {
      flow_of(global_first ? before : after, devices, fingerprints, limits),
      flow_of(global_first ? after : before, devices, fingerprints, limits)};
  const bool executed_next = options.engine == ModuleEngine::Default && operations <= kMaxAttempted;
  const auto evaluate = [&] {
    ModuleDecision decision =
        evaluated_relation(flows, fingerprints, devices, relation, executed_next, limits);
    decision.symbolic = decision.outcome;
    return decision;
  };
  const auto execute = [&] {
    return *decide_by_execution(*before, *after, devices, relation, limits);
  };
  if (options.engine == ModuleEngine::Symbolic) return evaluate();
  if (options.engine == ModuleEngine::Interpreter) return execute();
  if (options.engine == ModuleEngine::Solver) {
    return decide_by_solver(*before, *after, devices, relation, options.solver, limits);
  }
  if (options.engine == ModuleEngine::Default && operations > kExecutedFirst) {
    for (const bool every_number : {false, true}) {
      auto refuted = refuted_on_blocks(*before, *after, devices, relation, limits, every_number);
      if (refuted) return *refuted;
    }
  }
  std::optional<ModuleDecision> symbolic;
  if (options.engine == ModuleEngine::All || operations > kExecutedFirst) {
    symbolic = evaluate();
    const bool settled = symbolic->outcome != Outcome::Undecided;
    if (settled && options.engine == ModuleEngine::Default) return *symbolic;
  }
  ModuleDecision decision = execute();
  if (decision.outcome == Outcome::Undecided && !symbolic) symbolic = evaluate();
  if (!symbolic || symbolic->outcome == Outcome::Undecided) {
    // An open element says more than that execution takes too long.
    const bool says_more = symbolic && decision.outcome == Outcome::Undecided &&
                           operations > kMaxOperations && !symbolic->reason.empty();
    return says_more ? *symbolic : decision;
  }
  if (decision.outcome == Outcome::Refuted && symbolic->outcome == Outcome::Established) {
    return disagreement(decision, "symbolic evaluation finds them equal");
  }
  symbolic->interpreter = decision.interpreter;
  return decision.outcome == Outcome::Undecided ? *symbolic : decision;
}

/// Whether equal tensors on every device may be unrelated: some are sums, or on one device alone.
bool is_weaker_than_equality(const ModuleRelation& relation) {
  const auto is_placed = [](const TensorRelation& tensor) {
    return tensor.parts > 1 ||
           std::ranges::any_of(tensor.pieces, [](const auto& pieces) { return pieces.empty(); });
  };
  return std::ranges::any_of(relation.inputs, is_placed) ||
         std::ranges::any_of(relation.outputs, is_placed);
}

/// Chains of collectives apart, modules on more devices are not compared.
constexpr std::uint32_t kMaxOtherDevices = 65536;

}  // namespace

ModuleDecision compare_under_relation(const std::shared_ptr<const Module>& before,
                                      const std::shared_ptr<const Module>& after,
                                      const Devices& devices, const ModuleRelation& relation,
                                      const ComparisonOptions& options, const Limits& limits) {
  const auto too_many = [&] {
    return undecided(devices, fmt::format("More than {} devices: only chains of collectives on one "
                                          "vector are compared, as real numbers.",
                                          kMaxOtherDevices));
  };
  const bool is_large = devices.count() > kMaxOtherDevices;
  const bool may_be_chains = (relation.is_partitioned() || relation.mismatch_is_certain) &&
                             !options.ordered && options.engine == ModuleEngine::Default;
  if (is_large && !may_be_chains) return too_many();
  const double operations =
      estimated_operations(*before, devices) + estimated_operations(*after, devices);
  const auto execute = [&](const ModuleRelation& by) -> std::optional<ModuleDecision> {
    if (options.engine == ModuleEngine::Solver) {
      return decide_by_solver(*before, *after, devices, by, options.solver, limits);
    }
    return decide_by_execution(*before, *after, devices, by, limits);
  };
  if (!relation.is_partitioned() && !relation.mismatch_is_certain) {
    if (relation.mismatch) return undecided(devices, *relation.mismatch);
    if (options.ordered) {
      return undecided(devices,
                       "--order compares two partitioned modules; one of these is unpartitioned.");
    }
    if (!relation.is_mixed()) return *execute(relation);
    ModuleDecision decision =
        compare_with_unpartitioned(before, after, devices, relation, operations, options, limits);
    const bool is_refuted = decision.outcome == Outcome::Refuted;
    if (!relation.is_ambiguous || decision.outcome == Outcome::Undecided) return decision;
    if (is_refuted && !is_weaker_than_equality(relation)) return decision;
    const auto independent = execute(ModuleRelation{});
    const bool is_equal = independent && independent->outcome == Outcome::Established;
    if (is_refuted) {
      if (!is_equal) return decision;
      return undecided(devices,
                       "The modules differ if the first is not partitioned; shardings alone do not "
                       "tell, and with independent inputs on every device they are equal.");
    }
    if (is_equal) return *independent;
    return undecided(devices,
                     "The modules are equal if the first is not partitioned and its inputs are "
                     "replicated; shardings alone do not tell, and with independent inputs on "
                     "every device they may differ.");
  }
  Fingerprints fingerprints;
  const std::vector<Flow> flows = {flow_of(before, devices, fingerprints, limits),
                                   flow_of(after, devices, fingerprints, limits)};
  if (relation.mismatch) return different_signatures(devices, *relation.mismatch);
  const auto evaluate = [&](bool ordered, const Limits& within) {
    ModuleDecision decision = decide_by_regions(flows, relation, fingerprints, ordered, within);
    if (!ordered) decision.symbolic = decision.outcome;
    return decision;
  };
  if (options.ordered) return evaluate(true, limits);
  if (options.engine == ModuleEngine::Default) {
    const bool are_own = relation.replication.empty();  // inputs of devices, as chains have them
    auto decision = are_own ? compare_chains(flows[0], flows[1], limits) : std::nullopt;
    if (decision) return *decision;
    if (is_large) return too_many();
  }
  if (options.engine == ModuleEngine::Symbolic) return evaluate(false, limits);
  // What takes long to execute is first looked at on blocks.
  std::optional<ModuleDecision> first;
  const bool has_blocks = options.engine == ModuleEngine::Default && operations > kMaxOperations &&
                          relation.replication.empty();
  if (has_blocks) first = refuted_on_blocks(*before, *after, devices, relation, limits);
  if (!first) first = execute(relation);
  if (!first) {
    ModuleDecision decision = evaluate(false, limits);
    if (decision.outcome != Outcome::Undecided || !has_blocks) return decision;
    auto refuted = refuted_on_blocks(*before, *after, devices, relation, limits, true);
    return refuted ? *refuted : decision;
  }
  const bool alone =
      options.engine == ModuleEngine::Interpreter || options.engine == ModuleEngine::Solver;
  const bool both = options.engine == ModuleEngine::All;
  if (alone || (first->outcome == Outcome::Established && !both)) return *first;
  const bool is_refuted = first->outcome == Outcome::Refuted;
  ModuleDecision second = evaluate(false, is_refuted ? limits.within(kExplanationTime) : limits);
  second.interpreter = first->interpreter;
  if (first->outcome == Outcome::Established) {
    if (second.outcome != Outcome::Refuted) return *first;
    return disagreement(second, "execution finds them equal");
  }
  if (first->outcome == Outcome::Undecided) {
    // Execution found no difference, or could not decide: a proof for all inputs stands.
    return second.outcome == Outcome::Established ? second : *first;
  }
  if (second.outcome == Outcome::Established) {
    return disagreement(*first, "the symbolic evaluation of regions finds them equal");
  }
  // The same difference in terms of the inputs says more.
  return second.outcome == Outcome::Refuted ? second : *first;
}

ModuleDecision agreed(ModuleDecision decision, ModuleDecision solver) {
  const Outcome found = solver.outcome;
  decision.solver = found;
  if (decision.outcome == Outcome::Disagreement || found == Outcome::Undecided) return decision;
  if (decision.outcome == found) return decision;
  ModuleDecision result = std::move(solver);
  if (decision.outcome == Outcome::Refuted) {
    result = disagreement(decision, "the solver finds them equal");
  } else if (decision.outcome == Outcome::Established) {
    result = disagreement(result, "another engine finds them equal");
  }
  result.interpreter = decision.interpreter;
  result.symbolic = decision.symbolic;
  result.solver = found;
  return result;
}

}  // namespace p2::hlo
