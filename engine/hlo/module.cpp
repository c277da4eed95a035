#include "engine/hlo/module.h"

#include <fmt/format.h>

namespace p2::hlo {

std::optional<std::string_view> Attributes::other(std::string_view name) const {
  const std::string_view all = others;
  int depth = 0;
  bool in_string = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const char c = all[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (in_string) continue;
    if (c == '{' || c == '(' || c == '[') ++depth;
    if (c == '}' || c == ')' || c == ']') --depth;
    if (c != ';' || depth != 0) continue;
    const std::string_view part = all.substr(start, i - start);
    if (part.size() > name.size() && part.substr(0, name.size()) == name &&
        part[name.size()] == '=') {
      return part.substr(name.size() + 1);
    }
    start = i + 1;
  }
  return std::nullopt;
}

void number_parameters(Computation& computation, const SourcePosition& where) {
  const auto& all = computation.instructions;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (all[i].opcode != "parameter") continue;
    const auto number = static_cast<std::size_t>(all[i].attributes.index);
    if (number >= all.size()) throw InputError(all[i].position, "no such parameter, expected 0 …");
    if (computation.parameters.size() <= number) {
      computation.parameters.resize(number + 1, UINT32_MAX);
    }
    if (computation.parameters[number] != UINT32_MAX) {
      throw InputError(all[i].position,
                       fmt::format("parameter {} twice, expected each once", number));
    }
    computation.parameters[number] = i;
  }
  for (const std::uint32_t parameter : computation.parameters) {
    if (parameter == UINT32_MAX) throw InputError(where, "a parameter is missing, expected 0 …");
  }
}

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
  const bool boolean = type.kind() == ElementType::Kind::Boolean;
  // On booleans, addition and maximum are `or`; multiplication and minimum are `and`.
  if (opcode == "or" || (boolean && (opcode == "add" || opcode == "maximum"))) return Reducer::Or;
  if (opcode == "and" || (boolean && (opcode == "multiply" || opcode == "minimum"))) {
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
