// What every instruction of a module computes, by random interpretation.

#include "engine/hlo/explanation/trace.h"

#include <algorithm>
#include <map>

namespace p2::hlo {
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
    for_each_leaf(result, [&](const ArrayShape& shape, std::vector<Cells> cells, bool is_unknown) {
      const auto [found, added] = numbers_.try_emplace(key_of(cells), trace_.arrays.size());
      if (!added) return;
      TracedArray array{&instruction, shape, std::move(cells), sources, false, is_unknown};
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

}  // namespace p2::hlo
