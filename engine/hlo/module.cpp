#include "engine/hlo/module.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace p2::hlo {

std::string to_string(const LiteralElement& element) {
  if (!element.text.empty()) return element.text;
  return element.negative_zero ? "-0" : to_string(element.number);
}

std::vector<std::string_view> attributes_in(std::string_view all) {
  std::vector<std::string_view> parts;
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
    parts.push_back(all.substr(start, i - start));
    start = i + 1;
  }
  if (start < all.size()) parts.push_back(all.substr(start));
  return parts;
}

std::optional<std::string_view> attribute_in(std::string_view others, std::string_view name) {
  for (const std::string_view part : attributes_in(others)) {
    if (part.size() > name.size() && part.starts_with(name) && part[name.size()] == '=')
      return part.substr(name.size() + 1);
  }
  return std::nullopt;
}

bool has_instruction(const Module& module, const Instruction* instruction) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& each : computation.instructions) {
      if (&each == instruction) return true;
    }
  }
  return false;
}

std::vector<std::size_t> outputs_depending_on(const Module& module,
                                              const Instruction& instruction) {
  const Computation& entry = module.entry_computation();
  std::vector<bool> has_it;   // by computation, with those that it calls
  std::vector<bool> depends;  // by instruction of the last one
  const auto follow = [&](const Computation& computation) {
    depends.clear();
    bool any = false;
    for (const Instruction& each : computation.instructions) {
      bool found = &each == &instruction;
      for (const std::uint32_t called : each.called) found = found || has_it[called];
      any = any || found;
      for (const std::uint32_t operand : each.operands) found = found || depends[operand];
      depends.push_back(found);
    }
    return any;
  };
  for (const Computation& computation : module.computations) has_it.push_back(follow(computation));
  follow(entry);
  const Instruction& root = entry.instructions[entry.root];
  std::vector<std::size_t> outputs;
  std::size_t next = 0;
  const auto add = [&](const Shape& shape, bool found) {
    for (std::size_t k = shape.arrays().size(); k > 0; --k, ++next) {
      if (found) outputs.push_back(next);
    }
  };
  if (root.opcode != "tuple") add(root.shape, depends[entry.root]);
  for (std::size_t k = 0; root.opcode == "tuple" && k < root.operands.size(); ++k) {
    add(entry.instructions[root.operands[k]].shape, depends[root.operands[k]]);
  }
  return outputs;
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

void set_apart_if_not_known(Instruction& instruction, bool dynamic) {
  static constexpr auto kWithout = std::to_array<std::string_view>(
      {"constant", "custom-call", "get-tuple-element", "parameter", "tuple"});
  // Those of hlo_parser.cc that have no member in Attributes and that some engine reads, or that
  // change nothing; of opaque operations all are compared.
  // clang-format off
  static constexpr auto kKnown = std::to_array<std::string_view>({
      "algorithm", "batch_group_count", "collapsed_slice_dims", "dim_labels", "distribution",
      "domain", "epsilon", "exponent_bits", "feature_group_count", "feature_index", "fft_length",
      "fft_type", "index_vector_dim", "indices_are_sorted", "infeed_config", "input_batching_dims",
      "inserted_window_dims", "is_composite", "is_host_transfer", "is_stable", "k", "kind",
      "largest", "left_side", "lhs_batch_dims", "lhs_contracting_dims", "lower", "mantissa_bits",
      "offset_dims", "operand_batching_dims", "operand_precision", "outfeed_config",
      "output_to_operand_aliasing", "rhs_batch_dims", "rhs_contracting_dims",
      "scatter_dims_to_operand_dims", "scatter_indices_batching_dims", "slice_sizes",
      "start_index_map", "start_indices_batching_dims", "transpose_a", "type", "unique_indices",
      "unit_diagonal", "update_window_dims", "window"});
  // clang-format on
  if (std::ranges::find(kWithout, instruction.opcode) != kWithout.end()) return;
  if (dynamic) {
    instruction.opcode += "[dynamic]";
    return;
  }
  for (const std::string_view part : attributes_in(instruction.attributes.others)) {
    const std::string_view name = part.substr(0, part.find('='));
    if (std::ranges::find(kKnown, name) != kKnown.end()) continue;
    instruction.opcode += fmt::format("[{}]", name);
    return;
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

bool orders_largest_first(const Computation& comparator) {
  const auto text = [&](const auto& self, std::uint32_t number) -> std::string {
    const Instruction& each = comparator.instructions[number];
    const bool is_scalar = !each.shape.is_tuple && each.shape.array.sizes.empty();
    if (!is_scalar || each.opcode == "call" || each.opcode == "fusion") return "?";
    if (each.opcode == "parameter") return std::to_string(each.attributes.index) + "#";
    if (each.opcode == "constant")
      return each.literal && !each.literal->elided ? to_string(each.literal->at(0)) : "?";
    std::vector<std::string> operands;
    for (const std::uint32_t operand : each.operands) operands.push_back(self(self, operand));
    if (each.opcode == "xor") std::sort(operands.begin(), operands.end());
    std::string all = each.opcode + each.attributes.direction + "(";
    for (const std::string& operand : operands) all += operand + ",";
    return all + ")";
  };
  const Instruction& root = comparator.instructions[comparator.root];
  if (root.opcode != "compare" || root.attributes.direction != "GT" || root.operands.size() != 2)
    return false;
  for (const bool is_total : {false, true}) {
    bool is_so = true;
    for (std::size_t k = 0; k < 2; ++k) {
      const std::string parameter = std::to_string(k) + "#";
      const std::string bits = "bitcast(" + parameter + ",)";
      const std::string flipped = "xor(2147483647," + bits + ",)";
      const std::string total =
          "select(compareLT(" + bits + ",0,)," + flipped + "," + bits + ",)";
      is_so = is_so && text(text, root.operands[k]) == (is_total ? total : parameter);
    }
    if (is_so) return true;
  }
  return false;
}

}  // namespace p2::hlo
