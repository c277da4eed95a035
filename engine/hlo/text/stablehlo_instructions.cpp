// Instructions, tuples and computations of XLA as they are built from MLIR, and the symbols of
// functions.

#include "engine/hlo/text/stablehlo_reader.h"

#include <algorithm>

#include <fmt/format.h>

namespace p2::hlo {

std::uint32_t Scope::append(Instruction instruction) {
  computation.instructions.push_back(std::move(instruction));
  return static_cast<std::uint32_t>(computation.instructions.size() - 1);
}

void Scope::append_parameter(const std::string& name, const Shape& shape,
                             const SourcePosition& where) {
  Instruction instruction{name, "parameter"};
  instruction.shape = shape;
  instruction.position = where;
  instruction.attributes.index = static_cast<std::int64_t>(computation.parameters.size());
  const std::uint32_t number = append(std::move(instruction));
  computation.parameters.push_back(number);
  if (!name.empty()) names[name] = number;
}

std::uint32_t SymbolTable::function(const std::string& name, const SourcePosition& where) {
  const auto number = static_cast<std::uint32_t>(module_.computations.size());
  const auto [known, added] = functions_.emplace(name, number);
  return added ? add({name}, where) : known->second;
}

std::uint32_t SymbolTable::add(Computation computation, const SourcePosition& where) {
  if (computation.name.empty()) {
    computation.name = fmt::format("region {}", module_.computations.size());
  }
  module_.computations.push_back(std::move(computation));
  positions_.push_back(where);
  return static_cast<std::uint32_t>(module_.computations.size() - 1);
}

void SymbolTable::require_bodies() const {
  for (std::size_t i = 0; i < module_.computations.size(); ++i) {
    if (!module_.computations[i].instructions.empty()) continue;
    throw InputError(positions_[i], fmt::format("no function '{}' with a body, expected one",
                                                module_.computations[i].name));
  }
}

std::optional<MlirAttribute> MlirOperation::take(std::string_view name_of,
                                                 std::string_view pretty) {
  for (const std::string_view each : {name_of, pretty}) {
    const auto found = attributes.find(each);
    if (found == attributes.end()) continue;
    MlirAttribute attribute = std::move(found->second);
    attributes.erase(found);
    return attribute;
  }
  return std::nullopt;
}

Instruction instruction_for(const MlirOperation& operation, std::string opcode) {
  Instruction instruction;
  instruction.name = operation.results.empty() ? operation.name : "%" + operation.results.front();
  instruction.opcode = std::move(opcode);
  instruction.operands = operation.operands;
  instruction.position = operation.position;
  return instruction;
}

std::uint32_t append_tuple(Scope& scope, const MlirOperation& operation,
                           const std::vector<std::uint32_t>& parts) {
  Instruction tuple = instruction_for(operation, "tuple");
  tuple.operands = parts;
  tuple.shape.is_tuple = true;
  for (const std::uint32_t part : parts) tuple.shape.parts.push_back(scope.shape(part));
  return scope.append(std::move(tuple));
}

std::uint32_t append_element(Scope& scope, const MlirOperation& operation, std::uint32_t whole,
                             std::size_t index) {
  Instruction element = instruction_for(operation, "get-tuple-element");
  element.operands = {whole};
  element.shape = scope.shape(whole).parts[index];
  element.attributes.index = static_cast<std::int64_t>(index);
  return scope.append(std::move(element));
}

void append_results(Scope& scope, const MlirOperation& operation, Instruction instruction) {
  const std::vector<std::string>& results = operation.results;
  const std::size_t count = results.size();
  if (instruction.opcode == "all-to-all" && count > 1 && instruction.operands.size() == count) {
    for (std::size_t k = 0; k < count; ++k) {  // one each: XLA's tuple form has another meaning
      Instruction one = instruction;
      one.operands = {instruction.operands[k]};
      one.shape = operation.types[k];
      scope.names[results[k]] = scope.append(std::move(one));
    }
    return;
  }
  if (count <= 1) {
    instruction.shape = operation.types.empty() ? Shape{true, {}, {}} : operation.types.back();
    const std::uint32_t number = scope.append(std::move(instruction));
    if (count == 1) scope.names[results[0]] = number;
    return;
  }
  instruction.shape = {true, {}, operation.types};
  const std::uint32_t whole = scope.append(std::move(instruction));
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t element = append_element(scope, operation, whole, k);
    scope.computation.instructions[element].name = "%" + results[k];
    scope.names[results[k]] = element;
  }
}

bool has_foreign_type(const Scope& scope, const MlirOperation& operation) {
  const auto foreign_operand = [&](std::uint32_t operand) {
    return is_foreign(scope.shape(operand));
  };
  return std::any_of(operation.types.begin(), operation.types.end(), is_foreign) ||
         std::any_of(operation.operands.begin(), operation.operands.end(), foreign_operand);
}

Computation computation_of(Scope scope) {
  if (scope.returned.size() == 1) {
    scope.computation.root = scope.returned[0];
  } else {
    scope.computation.root = append_tuple(scope, {"return"}, scope.returned);
  }
  return std::move(scope.computation);
}

Shape shape_of(const std::vector<Shape>& types) {
  if (types.size() == 1) return types[0];
  return {true, {}, types};
}

}  // namespace p2::hlo
