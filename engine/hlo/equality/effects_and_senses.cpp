// What modules do beside their outputs: outfeeds, messages to the host, callbacks. Modules are not
// equal unless they do the same in the same order. And what XLA leaves open of their outputs.
//
// Senses stricter than that of real numbers: the same operations on the same operands, whatever the
// sizes, by hash consing of data-flow graphs; or by random interpretation.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/collective.h"
#include "engine/hlo/equality/comparison.h"
#include "engine/hlo/equality/decisions.h"
#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/execution.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/operations.h"

namespace p2::hlo {
namespace {

bool has_effect(const Instruction& instruction, bool is_linked) {
  const std::string& opcode = instruction.opcode;
  if (opcode == "infeed" || opcode == "outfeed") return true;
  // Messages between programs that were linked are values.
  if (opcode == "send" || opcode == "recv") return !is_linked;
  return says_side_effect(instruction) && !is_forwarding(instruction) &&
         !interpreter::text_attribute(instruction, "custom_call_target").starts_with("xla.sdy.");
}

/// The computations that the entry computation calls, also indirectly.
std::set<std::uint32_t> called_by_entry(const Module& module) {
  std::set<std::uint32_t> called;
  std::vector<std::uint32_t> open = {module.entry};
  while (!open.empty()) {
    const std::uint32_t computation = open.back();
    open.pop_back();
    for (const Instruction& each : module.computations[computation].instructions) {
      for (const std::uint32_t next : each.called) {
        if (called.insert(next).second) open.push_back(next);
      }
    }
  }
  return called;
}

/// An operation of the entry computation with an effect, and the numbers of the earlier ones that
/// it waits for, as tokens and other operands say.
struct Effect {
  std::uint32_t instruction = 0;
  std::set<std::size_t> after = {};
};

std::vector<Effect> effects_of(const Computation& entry, bool is_linked) {
  const auto any = [&](const Instruction& each) { return has_effect(each, is_linked); };
  if (std::none_of(entry.instructions.begin(), entry.instructions.end(), any)) return {};
  std::vector<Effect> effects;
  std::vector<std::set<std::size_t>> waits(entry.instructions.size());
  for (std::uint32_t number = 0; number < entry.instructions.size(); ++number) {
    const Instruction& instruction = entry.instructions[number];
    for (const std::uint32_t operand : instruction.operands) {
      waits[number].insert(waits[operand].begin(), waits[operand].end());
    }
    if (!has_effect(instruction, is_linked)) continue;
    effects.push_back({number, waits[number]});
    waits[number].insert(effects.size() - 1);
  }
  return effects;
}

/// The same operation, but for what it is given.
bool same_operation(const Computation& a, const Effect& of_a, const Computation& b,
                    const Effect& of_b) {
  const Instruction& first = a.instructions[of_a.instruction];
  const Instruction& second = b.instructions[of_b.instruction];
  return first.opcode == second.opcode && to_string(first.shape) == to_string(second.shape) &&
         attributes_text(first) == attributes_text(second) &&
         first.attributes.sharding == second.attributes.sharding &&
         first.operands.size() == second.operands.size() && first.called.empty() &&
         second.called.empty() && of_a.after == of_b.after;
}

/// The module with all operands of its effects as outputs after its own.
std::shared_ptr<const Module> with_effects(const Module& module,
                                           const std::vector<Effect>& effects) {
  auto result = std::make_shared<Module>(module);
  Computation& entry = result->computations[module.entry];
  const auto add_tuple = [&](std::vector<std::uint32_t> operands) {
    Instruction tuple;
    tuple.name = "with effects";
    tuple.opcode = "tuple";
    tuple.shape.is_tuple = true;
    for (const std::uint32_t operand : operands) {
      tuple.shape.parts.push_back(entry.instructions[operand].shape);
    }
    tuple.operands = std::move(operands);
    tuple.position = entry.instructions[entry.root].position;
    entry.instructions.push_back(std::move(tuple));
    return static_cast<std::uint32_t>(entry.instructions.size() - 1);
  };
  std::vector<std::uint32_t> given;
  for (const Effect& effect : effects) {
    for (const std::uint32_t operand : entry.instructions[effect.instruction].operands) {
      const Shape& shape = entry.instructions[operand].shape;
      if (shape.is_tuple || !shape.array.type.is_token()) given.push_back(operand);
    }
  }
  entry.root = add_tuple({entry.root, add_tuple(std::move(given))});
  return result;
}

}  // namespace

std::optional<EffectComparison> compare_effects(const Module& before, const Module& after) {
  const Instruction* first = nullptr;
  bool nested = false;
  std::vector<Effect> effects[2];
  const Module* const modules[] = {&before, &after};
  for (std::size_t k = 0; k < 2; ++k) {
    const Module& module = *modules[k];
    const bool is_linked = !module.programs.empty();
    effects[k] = effects_of(module.entry_computation(), is_linked);
    if (first == nullptr && !effects[k].empty()) {
      first = &module.entry_computation().instructions[effects[k][0].instruction];
    }
    for (const std::uint32_t computation : called_by_entry(module)) {
      for (const Instruction& each : module.computations[computation].instructions) {
        if (!has_effect(each, is_linked)) continue;
        nested = true;
        if (first == nullptr) first = &each;
      }
    }
  }
  if (first == nullptr) return std::nullopt;
  EffectComparison result{first};
  const Computation& a = before.entry_computation();
  const Computation& b = after.entry_computation();
  const bool same = !nested && std::equal(effects[0].begin(), effects[0].end(), effects[1].begin(),
                                          effects[1].end(), [&](const Effect& x, const Effect& y) {
                                            return same_operation(a, x, b, y);
                                          });
  if (same) {
    result.before = with_effects(before, effects[0]);
    result.after = with_effects(after, effects[1]);
  }
  return result;
}

namespace {

/// Whether the order in which an instruction takes elements decides what it computes.
bool depends_on_order(const Module& module, const Computation& computation,
                      const Instruction& each) {
  static constexpr auto kReductions = std::to_array<std::string_view>(
      {"all-reduce", "reduce", "reduce-scatter", "reduce-window", "scatter"});
  const std::string_view opcode = base_opcode(each.opcode);
  if (std::find(kReductions.begin(), kReductions.end(), opcode) == kReductions.end() ||
      each.called.empty() || is_free_of_order(module.computations[each.called[0]]))
    return false;
  if (opcode != "scatter" || each.operands.empty()) return true;
  const auto windows = interpreter::list_attribute(each, "update_window_dims");
  const auto& updates = computation.instructions[each.operands.back()].shape.array.sizes;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    if (!interpreter::contains(windows, i) && updates[i] > 1) return true;
  }
  return false;
}

/// A reducer of elements with their indices, which are -1 where there is no element, that XLA
/// expands select-and-scatter into: by whether the first of two elements is greater or equal, and
/// which of them are missing, whether it has the first.
class GreatestReducer {
 public:
  explicit GreatestReducer(const Computation& reducer) : reducer_(reducer) {}

  /// Whether it has the first of the greatest, of all arrays.
  bool keeps_greatest() const {
    const Instruction& root = reducer_.instructions[reducer_.root];
    const auto count = static_cast<std::int64_t>(root.operands.size());
    if (root.opcode != "tuple" || count < 2) return false;
    std::set<std::uint32_t> conditions;
    for (std::int64_t k = 0; k < count; ++k) {
      const Instruction& each = reducer_.instructions[root.operands[static_cast<std::size_t>(k)]];
      if (each.opcode != "select" || each.operands.size() != 3 ||
          parameter(each.operands[1]) != k || parameter(each.operands[2]) != count + k)
        return false;
      conditions.insert(each.operands[0]);
    }
    if (conditions.size() != 1) return false;
    for (const Case each : {Case{false, false, false},
                            {true, false, false},
                            {false, true, false},
                            {true, true, false},
                            {false, false, true},
                            {true, false, true}}) {
      const bool wanted = each.lacks_second || (each.is_greater && !each.lacks_first);
      if (value(*conditions.begin(), each, count) != wanted) return false;
    }
    return true;
  }

 private:
  struct Case {
    bool is_greater, lacks_first, lacks_second;
  };

  /// The number of a parameter; -1 for anything else.
  std::int64_t parameter(std::uint32_t at) const {
    const Instruction& each = reducer_.instructions[at];
    return each.opcode == "parameter" ? each.attributes.index : -1;
  }

  /// Of a truth value; nothing where it depends on something else.
  std::optional<bool> value(std::uint32_t at, const Case& given, std::int64_t count,
                            int depth = 0) const {
    const Instruction& each = reducer_.instructions[at];
    if (depth > 8) return std::nullopt;
    if (each.opcode == "compare" && each.operands.size() == 2) {
      const std::string& direction = each.attributes.direction;
      const std::int64_t first = parameter(each.operands[0]);
      const Instruction& second = reducer_.instructions[each.operands[1]];
      if (!interpreter::text_attribute(each, "type").empty()) return std::nullopt;
      if (direction == "GE" && first == 0 && parameter(each.operands[1]) == count)
        return given.is_greater;
      const bool is_index = (first == 1 || first == count + 1) && second.opcode == "constant" &&
                            second.literal && second.literal->elements.size() == 1 &&
                            interpreter::real_constant(second.literal->elements[0]) == -1;
      if (!is_index || (direction != "EQ" && direction != "NE")) return std::nullopt;
      return (first == 1 ? given.lacks_first : given.lacks_second) == (direction == "EQ");
    }
    std::vector<bool> operands;
    for (const std::uint32_t operand : each.operands) {
      const auto known = value(operand, given, count, depth + 1);
      if (!known) return std::nullopt;
      operands.push_back(*known);
    }
    if (each.opcode == "not" && operands.size() == 1) return !operands[0];
    if (each.opcode == "and" && operands.size() == 2) return operands[0] && operands[1];
    if (each.opcode == "or" && operands.size() == 2) return operands[0] || operands[1];
    return std::nullopt;
  }

  const Computation& reducer_;
};

/// An instruction that calls a computation, and the computation that it stands in.
using Caller = std::pair<const Computation*, const Instruction*>;

std::vector<Caller> callers_of(const Module& module, const Computation& called) {
  std::vector<Caller> callers;
  for (const Computation& computation : module.computations) {
    for (const Instruction& each : computation.instructions) {
      const bool calls = std::ranges::any_of(each.called, [&](std::uint32_t number) {
        return &module.computations[number] == &called;
      });
      if (calls) callers.emplace_back(&computation, &each);
    }
  }
  return callers;
}

/// The constant that an instruction is, in whatever shape and type; also where it is a parameter of
/// a fusion or call. Nothing for any other.
const Instruction* constant_of(const Module& module, const Computation* computation,
                               std::uint32_t at) {
  static constexpr auto kSame =
      std::to_array<std::string_view>({"bitcast", "broadcast", "convert", "copy", "reshape"});
  for (;;) {
    const Instruction& each = computation->instructions[at];
    if (each.opcode == "constant") return &each;
    if (each.opcode == "parameter") {
      if (computation == &module.entry_computation()) return nullptr;
      const auto callers = callers_of(module, *computation);
      if (callers.size() != 1) return nullptr;
      const auto& [caller, call] = callers[0];
      const auto number = static_cast<std::size_t>(each.attributes.index);
      const bool passes_operands = call->opcode == "fusion" || call->opcode == "call";
      if (!passes_operands || number >= call->operands.size()) return nullptr;
      computation = caller;
      at = call->operands[number];
      continue;
    }
    if (std::ranges::find(kSame, each.opcode) == kSame.end()) return nullptr;
    at = each.operands.at(0);
    const Shape& from = computation->instructions[at].shape;
    if (each.opcode == "bitcast" && from.array.type != each.shape.array.type) return nullptr;
  }
}

/// Whether a constant changes nothing where a reducer of two elements, rounded or not, combines it
/// with others.
bool is_neutral(const Computation& reducer, const Instruction& initial) {
  if (!is_free_of_order(reducer)) return false;
  std::uint32_t root = reducer.root;
  while (reducer.instructions[root].opcode == "convert")
    root = reducer.instructions[root].operands[0];
  if (reducer.instructions[root].shape.is_tuple) return false;
  const ElementType type = reducer.instructions[root].shape.array.type;
  const Reducer kind = reducer_of(reducer.instructions[root].opcode, type);
  if (kind == Reducer::Unknown) return false;
  if (!initial.literal || initial.literal->elements.size() != 1) return false;
  const double value = interpreter::real_constant(initial.literal->elements[0]);
  const auto limit = [&](bool is_largest) {
    if (type.is_float()) {
      const double end = type.bits() == 64 ? 1.79e308 : type.name() == "f16" ? 65504 : 3.38e38;
      return is_largest ? end : -end;
    }
    const bool is_signed = type.kind() == ElementType::Kind::Signed;
    const int bits = static_cast<int>(type.bits()) - (is_signed ? 1 : 0);
    return is_largest ? std::ldexp(1, bits) - 1 : is_signed ? -std::ldexp(1, bits) : 0;
  };
  if (kind == Reducer::Maximum) return value <= limit(false);
  if (kind == Reducer::Minimum) return value >= limit(true);
  const bool is_product = kind == Reducer::Multiply || kind == Reducer::And;
  return value == (is_product ? 1 : 0);
}

/// Whether windows are padded, by what is not known to be neutral: that is the initial value to
/// StableHLO, and left out by XLA.
bool is_padded_otherwise(const Module& module, const Computation& computation,
                         const Instruction& each) {
  if (each.opcode != "reduce-window" || each.called.empty() || each.operands.size() != 2)
    return false;
  const std::size_t rank = computation.instructions[each.operands[0]].shape.array.sizes.size();
  const auto windows = interpreter::window_of(each, rank);
  const bool is_padded = std::ranges::any_of(windows, [](const auto& window) {
    return window.pad_low > 0 || window.pad_high > 0 || window.base_dilation > 1;
  });
  if (!is_padded) return false;
  const Computation& reducer = module.computations[each.called[0]];
  const Instruction* const initial = constant_of(module, &computation, each.operands[1]);
  return initial == nullptr || !is_neutral(reducer, *initial);
}

/// Whether a gather or scatter has one vector of indices for every batch, in the order of batches,
/// whose dimensions of the operand come before those of the vector: these are sorted and unique.
bool has_one_vector_in_batches(const Computation& computation, const Instruction& each) {
  if (each.operands.size() < 2) return false;
  const auto& sizes = computation.instructions[each.operands[1]].shape.array.sizes;
  const bool is_gather = each.opcode == "gather";
  const auto list = [&](const char* name) { return interpreter::list_attribute(each, name); };
  auto batching = list(is_gather ? "operand_batching_dims" : "input_batching_dims");
  const auto of_indices =
      list(is_gather ? "start_indices_batching_dims" : "scatter_indices_batching_dims");
  const auto vector = interpreter::integer_attribute(each, "index_vector_dim");
  const auto map = list(is_gather ? "start_index_map" : "scatter_dims_to_operand_dims");
  batching.insert(batching.end(), map.begin(), map.end());
  if (!vector || !std::is_sorted(batching.begin(), batching.end()) ||
      !std::is_sorted(of_indices.begin(), of_indices.end()))
    return false;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const auto dimension = static_cast<std::int64_t>(k);
    if (sizes[k] != 1 && dimension != *vector && !std::ranges::count(of_indices, dimension))
      return false;
  }
  return true;
}

}  // namespace

std::optional<Openness> promise_in(const Module& after) {
  for (const Computation& computation : after.computations) {
    for (const Instruction& each : computation.instructions) {
      if (each.opcode != "gather" && each.opcode != "scatter") continue;
      const auto is_promised = [&](const char* promise) {
        return interpreter::text_attribute(each, promise) == "true";
      };
      if (!is_promised("indices_are_sorted") && !is_promised("unique_indices")) continue;
      if (!has_one_vector_in_batches(computation, each))
        return Openness{&each, "it promises sorted or unique indices"};
    }
  }
  return std::nullopt;
}

std::optional<Openness> new_openness(const Module& before, const Module& after) {
  const auto first = [](const Module& module, const auto& is_so) -> const Instruction* {
    for (const Computation& computation : module.computations) {
      for (const Instruction& each : computation.instructions) {
        if (is_so(computation, each)) return &each;
      }
    }
    return nullptr;
  };
  // Which windows of one module are which of the other is not known.
  for (const Module* const module : {&before, &after}) {
    std::set<std::uint32_t> executed = called_by_entry(*module);
    executed.insert(module->entry);
    for (const std::uint32_t number : executed) {
      const Computation& computation = module->computations[number];
      for (const Instruction& each : computation.instructions) {
        if (!is_padded_otherwise(*module, computation, each)) continue;
        return Openness{
            &each, "it is padded with its initial value by StableHLO, and with nothing by XLA"};
      }
    }
  }
  const auto is_open = [](const Module& module) {
    return [&](const Computation& computation, const Instruction& each) {
      return depends_on_order(module, computation, each);
    };
  };
  if (first(before, is_open(before)) != nullptr) return std::nullopt;
  // A select-and-scatter takes elements as a reduction does that looks for the greatest.
  const bool selects = first(before, [](const Computation& /*of*/, const Instruction& each) {
    return each.opcode == "select-and-scatter";
  });
  const auto is_new = [&](const Computation& computation, const Instruction& each) {
    return depends_on_order(after, computation, each) &&
           !(selects && each.opcode == "reduce-window" &&
             GreatestReducer(after.computations[each.called[0]]).keeps_greatest());
  };
  const Instruction* const found = first(after, is_new);
  if (found == nullptr) return std::nullopt;
  return Openness{found, "it may take elements in any order"};
}

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
                                         FloatEquality::Bitwise, kExecutedFirst, limits);
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
