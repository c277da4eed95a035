#include "engine/hlo/reducer.h"

namespace p2::hlo {

std::string_view to_string(Reducer reducer) {
  switch (reducer) {
    case Reducer::Add:
      return "add";
    case Reducer::Multiply:
      return "multiply";
    case Reducer::Maximum:
      return "maximum";
    case Reducer::Minimum:
      return "minimum";
    case Reducer::And:
      return "and";
    case Reducer::Or:
      return "or";
    case Reducer::Unknown:
      return "unknown";
  }
  return {};
}

Reducer reducer_of(std::string_view opcode, ElementType type) {
  if (type.kind() == ElementType::Kind::Other) return Reducer::Unknown;
  const bool truth = type.kind() == ElementType::Kind::Boolean;
  // Of truth values, addition and maximum are `or`, and multiplication and minimum are `and`.
  if (opcode == "or" || (truth && (opcode == "add" || opcode == "maximum"))) return Reducer::Or;
  if (opcode == "and" || (truth && (opcode == "multiply" || opcode == "minimum"))) {
    return Reducer::And;
  }
  if (opcode == "add") return Reducer::Add;
  if (opcode == "multiply") return Reducer::Multiply;
  if (opcode == "maximum") return Reducer::Maximum;
  if (opcode == "minimum") return Reducer::Minimum;
  return Reducer::Unknown;
}

Reducer reducer_of(const Computation& computation) {
  const Instruction& root = computation.instructions[computation.root];
  if (computation.parameters.size() != 2 || root.operands.size() != 2 || root.shape.is_tuple ||
      !root.shape.array.sizes.empty()) {
    return Reducer::Unknown;
  }
  std::uint32_t seen = 0;
  for (const std::uint32_t operand : root.operands) {
    const Instruction& instruction = computation.instructions[operand];
    if (instruction.opcode != "parameter" || instruction.shape.is_tuple ||
        instruction.shape.array.type != root.shape.array.type) {
      return Reducer::Unknown;
    }
    seen |= 1U << instruction.attributes.index;
  }
  return seen == 3 ? reducer_of(root.opcode, root.shape.array.type) : Reducer::Unknown;
}

}  // namespace p2::hlo
