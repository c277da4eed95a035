// The starts of dynamic slices and updates that do not depend on inputs.

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/interpreter/block_dimensions.h"
#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/operations.h"

namespace p2::hlo::interpreter {
namespace {

/// Indices are computed from arrays of at most so many elements.
constexpr std::int64_t kMaxIndexElements = 65536;
constexpr std::uint64_t kMaxIndexOperations = 10'000'000;

bool is_small(const Shape& shape) {
  for (const ArrayShape& array : shape.arrays()) {
    if (array.elements() > kMaxIndexElements) return false;
  }
  return true;
}

bool is_dynamic_access(const Instruction& instruction) {
  return instruction.opcode == "dynamic-slice" || instruction.opcode == "dynamic-update-slice";
}

/// The instructions of the entry whose values depend on no input, and are small.
std::vector<bool> constant_instructions(const Computation& entry) {
  std::vector<bool> all;
  for (const Instruction& each : entry.instructions) {
    bool is_constant = each.opcode != "parameter" && is_small(each.shape) && !is_impure(each) &&
                       each.opcode != kMatchedReceive && each.opcode != "custom-call" &&
                       !(each.literal && each.literal->elided);
    for (const std::uint32_t operand : each.operands) is_constant = is_constant && all[operand];
    all.push_back(is_constant);
  }
  return all;
}

}  // namespace

KnownStarts known_starts(const Module& module, const Devices& devices, const Limits& limits) {
  const Computation& entry = module.entry_computation();
  const std::vector<bool> is_constant = constant_instructions(entry);
  std::vector<bool> is_needed(entry.instructions.size(), false);
  std::vector<const Instruction*> slices;
  for (const Instruction& each : entry.instructions) {
    if (!is_dynamic_access(each) || each.shape.array.sizes.empty()) continue;
    slices.push_back(&each);
    for (std::size_t k = each.opcode == "dynamic-slice" ? 1 : 2; k < each.operands.size(); ++k) {
      if (is_constant[each.operands[k]]) is_needed[each.operands[k]] = true;
    }
  }
  KnownStarts result;
  if (slices.empty()) return result;
  for (std::size_t i = is_needed.size(); i-- > 0;) {
    if (!is_needed[i]) continue;
    for (const std::uint32_t operand : entry.instructions[i].operands) is_needed[operand] = true;
  }
  Module pruned = module;
  Computation& kept = pruned.computations[pruned.entry];
  kept.instructions.clear();
  kept.parameters.clear();
  Instruction root;
  root.name = "starts";
  root.opcode = "tuple";
  root.shape.is_tuple = true;
  root.program = kEveryProgram;
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < is_needed.size(); ++i) {
    if (!is_needed[i]) continue;
    Instruction copy = entry.instructions[i];
    for (std::uint32_t& operand : copy.operands) operand = numbers.at(operand);
    numbers[i] = static_cast<std::uint32_t>(kept.instructions.size());
    root.operands.push_back(numbers[i]);
    root.shape.parts.push_back(copy.shape);
    kept.instructions.push_back(std::move(copy));
  }
  kept.root = static_cast<std::uint32_t>(kept.instructions.size());
  kept.instructions.push_back(root);
  Numbers arithmetic;
  Work work(limits, kMaxIndexOperations);
  Interpreter<Numbers>::PerDevice values;
  try {
    Interpreter<Numbers> run(pruned, 1, devices, arithmetic, work);
    values = run.run({});
  } catch (const NotUnderstood&) {
    return result;
  }
  for (const Instruction* slice : slices) {
    const bool updates = slice->opcode == "dynamic-update-slice";
    const std::size_t first = updates ? 2 : 1;
    const ArrayShape& whole = entry.instructions[slice->operands.at(0)].shape.array;
    const ArrayShape& window =
        updates ? entry.instructions[slice->operands.at(1)].shape.array : slice->shape.array;
    const std::size_t rank = whole.sizes.size();
    if (window.sizes.size() != rank || slice->operands.size() != first + rank) continue;
    auto& starts = result[slice];
    starts.resize(rank);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t last = whole.sizes[i] - window.sizes[i];
      const auto number = numbers.find(slice->operands[first + i]);
      const Instruction& from = entry.instructions[slice->operands[first + i]];
      if (number == numbers.end() || !from.shape.array.sizes.empty()) continue;
      for (std::uint32_t device = 0; device < devices.count(); ++device) {
        if (!values[device]) continue;
        const auto& array = values[device]->parts.at(number->second).array;
        if (!array.cells || array.cells->empty()) continue;  // of another program
        if (array.unknown || array.at(0).arbitrary) {
          starts[i].clear();
          break;
        }
        const std::int64_t value = array.at(0).integer;
        const bool is_unsigned = from.shape.array.type.kind() == ElementType::Kind::Unsigned;
        starts[i].insert(value < 0 && is_unsigned ? last
                                                  : std::clamp<std::int64_t>(value, 0, last));
      }
    }
  }
  return result;
}

}  // namespace p2::hlo::interpreter
