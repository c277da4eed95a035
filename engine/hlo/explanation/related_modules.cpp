#include "engine/hlo/explanation/related_modules.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "engine/hlo/flow.h"
#include "engine/hlo/interpreter/execution.h"
#include "engine/hlo/interpreter/execution_tensors.h"

namespace p2::hlo {

RandomInterpretation::RandomInterpretation(const Devices& devices, const ModuleRelation& relation,
                                           std::uint64_t most, const Limits& limits)
    : devices_(devices),
      relation_(relation),
      algebra_(interpreter::kFirstSeed),
      work_(limits, most) {}

auto RandomInterpretation::run(const Module& module, Form form, bool is_before,
                               const Run::Observer& observer) -> PerDevice {
  Run run(module, is_before ? 1 : 2, devices_, algebra_, work_);
  run.observe(observer);
  const interpreter::Inputs inputs(devices_, relation_);
  const interpreter::Draw& draw = interpreter::kDraws[0];
  run.fill_memory(inputs.memory(algebra_, form, draw, interpreter::kFirstSeed));
  return run.run(inputs.of(algebra_, module, form, draw, interpreter::kFirstSeed, work_));
}

interpreter::Term RandomInterpretation::combine(Reducer reducer, ElementType type,
                                                const interpreter::Term& a,
                                                const interpreter::Term& b) {
  return algebra_.exact(interpreter::combined(algebra_, reducer, type, a, b), type);
}

interpreter::Term RandomInterpretation::scaled(const interpreter::Term& a, Number factor,
                                               ElementType type) {
  return combine(Reducer::Multiply, type, algebra_.constant({factor, {}}, type), a);
}

namespace {

using Tree = RandomInterpretation::Run::Tree;
using PerDevice = RandomInterpretation::PerDevice;

/// Elements of all arrays of a module, those shared by devices once.
constexpr std::size_t kMaxTracedElements = 2'000'000;

class Tracer {
 public:
  Tracer(const Module& module, Trace& trace) : module_(module), trace_(trace) {}

  void see(const Instruction& instruction, const std::vector<const PerDevice*>& operands,
           const PerDevice& result) {
    std::vector<std::uint32_t> sources;
    for (const PerDevice* operand : operands) {
      for (const std::uint32_t array : arrays_of(*operand)) sources.push_back(array);
    }
    for (const std::uint32_t called : instruction.called) {
      if (instruction.opcode != "conditional") break;
      const Computation& computation = module_.computations[called];
      const auto inner = last_results_.find(&computation.instructions[computation.root]);
      if (inner == last_results_.end()) continue;
      sources.insert(sources.end(), inner->second.begin(), inner->second.end());
    }
    std::uint32_t next = 0;
    for_each_leaf(result, [&](const ArrayShape& shape, std::vector<Cells> cells, bool is_unknown) {
      const std::uint32_t part = next++;
      const auto [found, added] = numbers_.try_emplace(key_of(cells), trace_.arrays.size());
      if (!added) return;
      TracedArray array{&instruction, shape, std::move(cells), sources, false, is_unknown, part};
      array.depends_on_inputs = instruction.opcode == "parameter" ||
                                std::ranges::any_of(sources, [&](std::uint32_t source) {
                                  return trace_.arrays[source].depends_on_inputs;
                                });
      count(array);
      trace_.arrays.push_back(std::move(array));
    });
    last_results_[&instruction] = arrays_of(result);
  }

  /// Those that see() has seen.
  std::vector<std::uint32_t> arrays_of(const PerDevice& values) const {
    std::vector<std::uint32_t> all;
    for_each_leaf(values, [&](const ArrayShape&, const std::vector<Cells>& cells, bool) {
      const auto found = numbers_.find(key_of(cells));
      if (found != numbers_.end()) all.push_back(found->second);
    });
    return all;
  }

 private:
  using Key = std::vector<const void*>;

  static Key key_of(const std::vector<Cells>& cells) {
    Key key;
    for (const Cells& each : cells) key.push_back(each.get());
    return key;
  }

  static void append_leaves(const Tree& tree, std::vector<const Tree*>& leaves) {
    if (!tree.is_tuple) leaves.push_back(&tree);
    for (const Tree& part : tree.parts) append_leaves(part, leaves);
  }

  template <typename Visit>
  static void for_each_leaf(const PerDevice& values, const Visit& visit) {
    std::vector<std::vector<const Tree*>> leaves(values.size());
    std::size_t count = 0;
    for (std::size_t device = 0; device < values.size(); ++device) {
      if (values[device]) append_leaves(*values[device], leaves[device]);
      count = std::max(count, leaves[device].size());
    }
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<Cells> cells(values.size());
      const ArrayShape* shape = nullptr;
      bool is_unknown = false;
      for (std::size_t device = 0; device < values.size(); ++device) {
        if (k >= leaves[device].size()) continue;
        const auto& array = leaves[device][k]->array;
        cells[device] = array.cells;
        is_unknown |= array.unknown;
        if (array.cells) shape = &array.shape;
      }
      if (shape != nullptr) visit(*shape, std::move(cells), is_unknown);
    }
  }

  void count(const TracedArray& array) {
    const void* last = nullptr;
    for (const Cells& each : array.cells) {
      if (each && each.get() != last) elements_ += each->size();
      last = each.get();
    }
    if (elements_ > kMaxTracedElements) {
      throw LimitReached(LimitReached::Kind::Memory, "too many elements for an explanation");
    }
  }

  const Module& module_;
  Trace& trace_;
  std::map<Key, std::uint32_t> numbers_;
  /// What an instruction computed last: a conditional is computed from the roots of its branches.
  std::map<const Instruction*, std::vector<std::uint32_t>> last_results_;
  std::size_t elements_ = 0;
};

}  // namespace

Trace trace(RandomInterpretation& interpretation, const Module& module, Form form, bool is_before) {
  Trace trace;
  Tracer tracer(module, trace);
  const PerDevice results = interpretation.run(
      module, form, is_before,
      [&](const Instruction& instruction, const std::vector<const PerDevice*>& operands,
          const PerDevice& result) { tracer.see(instruction, operands, result); });
  trace.outputs = tracer.arrays_of(results);
  return trace;
}

Trace trace_of(const Flow& flow) {
  Trace trace;
  std::vector<std::uint32_t> first;  // array by node
  const auto number_of = [&](Ref ref) { return first[ref.node] + ref.output; };
  for (const Node& node : flow.nodes) {
    first.push_back(static_cast<std::uint32_t>(trace.arrays.size()));
    TracedArray array{node.instruction};
    array.depends_on_inputs = node.op == Op::Parameter;
    for (const Ref each : node.operands) {
      array.operands.push_back(number_of(each));
      array.depends_on_inputs |= trace.arrays[number_of(each)].depends_on_inputs;
    }
    for (const ArrayShape& shape : node.outputs) {
      array.shape = shape;
      trace.arrays.push_back(array);
      ++array.part;
    }
  }
  for (const Ref each : flow.outputs) trace.outputs.push_back(number_of(each));
  return trace;
}

HeldArrays::Array array_on(const Trace& trace, std::uint32_t number, std::uint32_t device) {
  const TracedArray& array = trace.arrays[number];
  return {number, *array.instruction, array.part, array.shape, device};
}

RelatedModules::RelatedModules(const Module& before, const Module& after,
                               const ModuleDecision& decision, const Limits& limits)
    : decision_(decision),
      relation_(*decision.relation),
      is_of_before_(relation_.is_reversed()),
      subject_(is_of_before_ ? before : after),
      other_(is_of_before_ ? after : before),
      limits_(limits),
      interpretation_(decision.devices, relation_, kMaxExplanationWork, limits_),
      other_trace_(p2::hlo::trace(interpretation_, other_,
                                  is_of_before_ ? relation_.after : relation_.before,
                                  !is_of_before_)),
      trace_(p2::hlo::trace(interpretation_, subject_, subject_form(), is_of_before_)),
      groups_(likely_groups(subject_, decision.devices, relation_.mesh)),
      search_(other_trace_, relation_.is_mixed(), interpretation_, groups_) {}

std::uint32_t output_on(const Trace& trace, const ModuleRelation& relation, std::size_t number,
                        std::uint32_t device) {
  return trace.outputs.at(relation.is_mixed() ? relation.outputs[number].number_on(device)
                                              : number);
}

bool RelatedModules::is_related(std::uint32_t array) {
  return !trace_.arrays[array].depends_on_inputs || holding(array);
}

const std::optional<Holding>& RelatedModules::holding(std::uint32_t array) {
  const auto [found, added] = holdings_.try_emplace(array);
  if (added) found->second = search_.find(trace_.arrays[array]);
  return found->second;
}

bool RelatedModules::occurs(std::uint32_t array) {
  const auto [found, added] = occurs_.try_emplace(array);
  if (added) found->second = search_.occurs(trace_.arrays[array]);
  return found->second;
}

bool RelatedModules::is_valid(const Module& changed) const {
  const Module& before = is_of_before_ ? changed : other_;
  const Module& after = is_of_before_ ? other_ : changed;
  try {
    if (differ_on_numbers(before, after, decision_.devices, relation_, kMaxExplanationWork,
                          limits_)) {
      return false;
    }
    return compare_by_execution(before, after, decision_.devices, relation_, decision_.operations,
                                kMaxExplanationWork, limits_)
               .outcome == Outcome::Established;
  } catch (const interpreter::NotUnderstood&) {
    return false;
  } catch (const IllFormed&) {
    return false;
  }
}

std::string held_words(const NamedInstruction& tensor, const char* other_word, Reducer reducer,
                       bool is_whole, const std::string& over) {
  const std::string name =
      fmt::format("{} {} (line {})", tensor.name, other_word, tensor.position.line);
  if (reducer == Reducer::Unknown) return is_whole ? name : "pieces of " + name;
  return fmt::format("{} of {}{}",
                     reducer == Reducer::Add
                         ? "partial sums"
                         : fmt::format("partial results ({})", to_string(reducer)),
                     name, over.empty() ? "" : " over " + over);
}

std::string RelatedModules::held_text(const Holding& holding) const {
  const NamedInstruction tensor = named(*other_trace_.arrays[holding.array].instruction);
  if (holding.reducer != Reducer::Unknown)
    return held_words(tensor, other_word(), holding.reducer, false, over(holding.groups));
  const bool is_multiple = holding.factor != Number{1, 1};
  const std::string words =
      held_words(tensor, other_word(), Reducer::Unknown, is_multiple || holding.is_whole, "");
  return is_multiple ? fmt::format("{} times {}", to_string(holding.factor), words) : words;
}

}  // namespace p2::hlo
