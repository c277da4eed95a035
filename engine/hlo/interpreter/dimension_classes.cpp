// The classes of dimensions of a module's values.

#include "engine/hlo/interpreter/dimension_classes.h"

#include <string_view>
#include <utility>

#include "engine/hlo/collective.h"
#include "engine/hlo/operations.h"

namespace p2::hlo::interpreter {

void append_arrays(const ValueDimensions& value, std::vector<const ValueDimensions*>& all) {
  if (value.shape != nullptr) all.push_back(&value);
  for (const ValueDimensions& part : value.parts) append_arrays(part, all);
}

void ModuleDimensions::classify() {
  const std::set<std::uint32_t> reached = called_from(module_.entry);
  for (const Computation& computation : module_.computations) {
    const bool is_reached = reached.contains(static_cast<std::uint32_t>(values_.size()));
    auto& values = values_.emplace_back();
    values.reserve(computation.instructions.size());
    for (const Instruction& each : computation.instructions) {
      if (is_reached) {
        add(each, values);
      } else {
        values.push_back(of(each.shape));
        fix(values.back());
      }
    }
  }
}

std::vector<const ValueDimensions*> ModuleDimensions::inputs() const {
  std::vector<const ValueDimensions*> all;
  const Computation& entry = module_.entry_computation();
  for (const std::uint32_t each : entry.parameters)
    append_arrays(values_[module_.entry][each], all);
  return all;
}

std::vector<const ValueDimensions*> ModuleDimensions::outputs() const {
  std::vector<const ValueDimensions*> all;
  append_arrays(values_[module_.entry][module_.entry_computation().root], all);
  return all;
}

ValueDimensions ModuleDimensions::of(const Shape& shape) {
  ValueDimensions value;
  for (const Shape& part : shape.parts) value.parts.push_back(of(part));
  if (shape.is_tuple) return value;
  value.shape = &shape.array;
  for (const std::int64_t size : shape.array.sizes) value.numbers.push_back(classes_.add(size));
  return value;
}

void ModuleDimensions::fix(const ValueDimensions& value) {
  for (const std::uint32_t each : value.numbers) classes_.fix(each);
  for (const ValueDimensions& part : value.parts) fix(part);
}

/// A computation and all that it calls.
std::set<std::uint32_t> ModuleDimensions::called_from(std::uint32_t computation) const {
  std::set<std::uint32_t> all;
  std::vector<std::uint32_t> open = {computation};
  while (!open.empty()) {
    const std::uint32_t next = open.back();
    open.pop_back();
    if (!all.insert(next).second) continue;
    for (const Instruction& each : module_.computations[next].instructions) {
      open.insert(open.end(), each.called.begin(), each.called.end());
    }
  }
  return all;
}

void ModuleDimensions::fix_called(const Instruction& instruction) {
  for (const std::uint32_t computation : instruction.called) {
    if (fixed_.contains(computation)) continue;
    for (const std::uint32_t each : called_from(computation)) {
      if (!fixed_.insert(each).second) continue;
      for (const ValueDimensions& value : values_[each]) fix(value);
    }
  }
}

void ModuleDimensions::tie(const ValueDimensions& a, const ValueDimensions& b) {
  const bool are_alike = (a.shape == nullptr) == (b.shape == nullptr) &&
                         a.numbers.size() == b.numbers.size() && a.parts.size() == b.parts.size();
  if (!are_alike) {
    fix(a);
    fix(b);
    return;
  }
  for (std::size_t i = 0; i < a.numbers.size(); ++i) classes_.tie(a.numbers[i], b.numbers[i]);
  for (std::size_t i = 0; i < a.parts.size(); ++i) tie(a.parts[i], b.parts[i]);
}

/// Ties the arguments of a call to the parameters; whether they are as many.
bool ModuleDimensions::pass(std::uint32_t computation, const Arrays& arguments) {
  const std::vector<std::uint32_t>& parameters = module_.computations[computation].parameters;
  if (parameters.size() != arguments.size()) return false;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    tie(values_[computation][parameters[k]], *arguments[k]);
  }
  return true;
}

/// The value of a start: that of its operation, whatever shape the text gives it.
std::optional<ValueDimensions> ModuleDimensions::started(const Instruction& instruction,
                                                         const Arrays& operands) {
  const std::string_view opcode = instruction.opcode;
  if (opcode == "async-start" && instruction.called.size() == 1) {
    if (pass(instruction.called[0], operands)) return *root_of(instruction.called[0]);
  } else if (opcode == "copy-start" || opcode == "async-update") {
    if (!operands.empty()) return *operands[0];
  } else if (opcode == "all-reduce-start" || opcode == "collective-permute-start") {
    if (operands.size() == 1) return *operands[0];
    ValueDimensions all;
    for (const ValueDimensions* each : operands) all.parts.push_back(*each);
    return all;
  } else if (opcode == "all-gather-start" && instruction.shape.parts.size() >= 2) {
    return of(instruction.shape.parts[1]);
  }
  return std::nullopt;
}

/// Operations that pass whole values on; false for any other.
bool ModuleDimensions::tie_control(const Instruction& instruction, const ValueDimensions& result,
                                   const Arrays& operands) {
  const std::string_view opcode = instruction.opcode;
  const std::vector<std::uint32_t>& called = instruction.called;
  if (opcode == kMatchedReceive || opcode == kOfOwnProgram) {
    for (const ValueDimensions* operand : operands) tie(result, *operand);
    return true;
  }
  if (opcode == "tuple" || (is_barrier(instruction) && operands.size() > 1)) {
    if (result.parts.size() != operands.size()) return false;
    for (std::size_t k = 0; k < operands.size(); ++k) tie(result.parts[k], *operands[k]);
    return true;
  }
  if (is_forwarding(instruction)) {
    if (operands.empty()) return false;
    tie(result, *operands[0]);
    return true;
  }
  if (opcode == "get-tuple-element") {
    const auto index = static_cast<std::size_t>(instruction.attributes.index);
    if (operands.empty() || index >= operands[0]->parts.size()) return false;
    tie(result, operands[0]->parts[index]);
    return true;
  }
  if (opcode == "call" || opcode == "fusion") {
    if (called.size() != 1 || !pass(called[0], operands)) return false;
    tie(result, *root_of(called[0]));
    return true;
  }
  if (opcode == "while") {
    if (called.size() != 2 || operands.size() != 1) return false;
    if (!pass(called[0], operands) || !pass(called[1], operands)) return false;
    tie(result, *operands[0]);
    tie(*root_of(called[1]), *operands[0]);
    return true;
  }
  if (opcode == "conditional") {
    if (operands.size() != called.size() + 1) return false;
    fix(*operands[0]);
    for (std::size_t k = 0; k < called.size(); ++k) {
      if (!pass(called[k], {operands[k + 1]})) return false;
      tie(result, *root_of(called[k]));
    }
    return true;
  }
  return opcode == "partition-id" || opcode == "replica-id";
}

void ModuleDimensions::add(const Instruction& instruction, Values& values) {
  std::vector<const ValueDimensions*> operands;
  for (const std::uint32_t operand : instruction.operands) operands.push_back(&values[operand]);
  const auto start = started(instruction, operands);
  values.push_back(start ? *start : of(instruction.shape));
  const ValueDimensions& result = values.back();
  if (instruction.opcode == "parameter") return;
  const bool is_collective_start = is_collective(base_opcode(instruction.opcode));
  if (start && !is_collective_start) return;
  if (!start && tie_control(instruction, result, operands)) return;
  const bool ends_start = instruction.opcode.ends_with("-start") && !start;
  fix_called(instruction);
  if (ends_start) {
    for (const ValueDimensions* operand : operands) fix(*operand);
    fix(result);
    return;
  }
  pass_on(instruction, operands, result);
}

/// Ties the dimensions that an operation on arrays passes on, and fixes all others.
void ModuleDimensions::pass_on(const Instruction& instruction, const Arrays& operands,
                               const ValueDimensions& result) {
  Arrays arrays(operands);
  append_arrays(result, arrays);
  std::vector<const ArrayShape*> shapes;
  std::vector<std::vector<bool>> passes;
  bool has_tuples = false;
  for (const ValueDimensions* each : arrays) {
    has_tuples = has_tuples || each->shape == nullptr;
    shapes.push_back(each->shape);
    passes.emplace_back(each->numbers.size(), false);
  }
  std::optional<PassedDimensions> passed;
  if (!has_tuples) {
    const auto first_result = shapes.begin() + static_cast<std::ptrdiff_t>(operands.size());
    passed = passed_dimensions(instruction, {shapes.begin(), first_result},
                               {first_result, shapes.end()}, rounded_);
  }
  if (passed) {
    for (const auto& [array, dimension] : passed->uniform) passes[array][dimension] = true;
    for (const auto& [a, b] : passed->same) {
      passes[a.array][a.dimension] = passes[b.array][b.dimension] = true;
      classes_.tie(arrays[a.array]->numbers[a.dimension], arrays[b.array]->numbers[b.dimension]);
    }
  }
  if (!has_tuples) relate(instruction, arrays, passes);
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    for (std::size_t i = 0; i < passes[a].size(); ++i) {
      if (!passes[a][i]) classes_.fix(arrays[a]->numbers[i]);
    }
    for (const ValueDimensions& part : arrays[a]->parts) fix(part);
  }
}

}  // namespace p2::hlo::interpreter
