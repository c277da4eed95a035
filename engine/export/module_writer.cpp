// Writes modules as HLO text and as StableHLO.

#include "engine/export/module_lowering.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "p2/error.h"

namespace p2::hlo {
namespace {

std::string list_of(const std::vector<std::int64_t>& numbers) {
  return fmt::format("{{{}}}", fmt::join(numbers, ","));
}

std::string literal_of(const Literal& literal) {
  std::string list;
  for (const LiteralElement& element : literal.elements) {
    list += (list.empty() ? "" : ",") + to_string(element.number);
  }
  return literal.shape.sizes.empty() ? list : "{" + list + "}";
}

/// Groups of more ids are in the iota form where they have one.
constexpr std::int64_t kMaxListedIds = 64;

std::string groups_of(const ReplicaGroups& groups) {
  if (groups.end_of_ids() > kMaxListedIds) {
    if (const auto iota = to_iota(groups.lists)) return *iota;
  }
  std::string text;
  for (const auto& group : groups.lists) text += (text.empty() ? "" : ",") + list_of(group);
  return "{" + text + "}";
}

std::string operands_of(const Computation& computation, const Instruction& instruction) {
  if (instruction.opcode == "parameter") return std::to_string(instruction.attributes.index);
  if (instruction.literal) return literal_of(*instruction.literal);
  std::string text;
  for (const std::uint32_t operand : instruction.operands) {
    text += (text.empty() ? "" : ", ") + computation.instructions[operand].name;
  }
  return text;
}

std::string attributes_of(const Module& module, const Instruction& instruction, int& channel) {
  const Attributes& attributes = instruction.attributes;
  std::string text;
  if (attributes.has_channel) {
    text +=
        fmt::format(", channel_id={}, replica_groups={}", ++channel, groups_of(attributes.groups));
  }
  if (attributes.global_ids) text += ", use_global_device_ids=true";
  if (!attributes.dimensions.empty() || instruction.opcode == "broadcast") {
    text += ", dimensions=" + list_of(attributes.dimensions);
  }
  if (!attributes.slice_sizes.empty()) {
    text += ", dynamic_slice_sizes=" + list_of(attributes.slice_sizes);
  }
  if (!attributes.limits.empty()) {
    text += fmt::format(", slice={{[{}:{}]}}", attributes.starts[0], attributes.limits[0]);
  }
  for (const std::uint32_t called : instruction.called) {
    text += ", to_apply=" + module.computations[called].name;
  }
  return text;
}

std::string type_of(const ArrayShape& shape) {
  std::string text = "tensor<";
  for (const std::int64_t size : shape.sizes) text += fmt::format("{}x", size);
  const std::string_view name = shape.type.name();
  if (name == "s32") return text + "i32>";
  if (name == "u32") return text + "ui32>";
  return text + std::string(name) + ">";
}

std::string dense_of(const Literal& literal) {
  const char* const suffix = literal.shape.type.is_float() ? ".0" : "";
  std::string list;
  for (const LiteralElement& element : literal.elements) {
    list += (list.empty() ? "" : ", ") + to_string(element.number) + suffix;
  }
  return fmt::format("dense<{}>", literal.shape.sizes.empty() ? list : "[" + list + "]");
}

/// More ids, with those that pad groups, would make a text of half a gigabyte.
constexpr std::size_t kMaxPaddedIds = std::size_t{1} << 25U;

std::string dense_groups_of(const ReplicaGroups& groups) {
  std::size_t width = 0;
  for (const auto& group : groups.lists) width = std::max(width, group.size());
  if (width * groups.lists.size() > kMaxPaddedIds) {
    throw LimitReached(LimitReached::Kind::Size,
                       fmt::format("StableHLO pads each of {} groups to the {} devices of the "
                                   "longest, expected fewer, or HLO text",
                                   groups.lists.size(), width));
  }
  std::string rows;
  for (auto group : groups.lists) {
    group.resize(width, -1);
    rows += fmt::format("{}[{}]", rows.empty() ? "" : ", ", fmt::join(group, ", "));
  }
  return fmt::format("dense<[{}]> : tensor<{}x{}xi64>", rows, groups.lists.size(), width);
}

/// The operations of one function.
class FunctionWriter {
 public:
  explicit FunctionWriter(const Computation& computation) : computation_(computation) {}

  std::string text() {
    std::string parameters;
    for (const std::uint32_t index : computation_.parameters) {
      parameters +=
          fmt::format("{}%{}: {}", parameters.empty() ? "" : ", ", name(index), type(index));
    }
    std::string text = fmt::format("  func.func public @{}({}) -> {} {{\n", computation_.name,
                                   parameters, type(computation_.root));
    for (const Instruction& instruction : computation_.instructions) {
      if (instruction.opcode != "parameter") {
        text += fmt::format("    %{} = {}\n", instruction.name, operation(instruction));
      }
    }
    return text + fmt::format("    return %{} : {}\n  }}\n", name(computation_.root),
                              type(computation_.root));
  }

 private:
  const std::string& name(std::uint32_t index) const {
    return computation_.instructions[index].name;
  }
  std::string type(std::uint32_t index) const {
    return type_of(computation_.instructions[index].shape.array);
  }

  std::string operation(const Instruction& instruction) {
    std::string opcode =
        instruction.opcode == "broadcast" ? "broadcast_in_dim" : instruction.opcode;
    std::replace(opcode.begin(), opcode.end(), '-', '_');
    const std::string result = type_of(instruction.shape.array);
    if (instruction.literal) {
      return fmt::format("stablehlo.constant {} : {}", dense_of(*instruction.literal), result);
    }
    if (instruction.operands.empty()) return fmt::format("stablehlo.{} : {}", opcode, result);
    std::string names;
    std::string types;
    for (const std::uint32_t operand : instruction.operands) {
      names += (names.empty() ? "%" : ", %") + name(operand);
      types += (types.empty() ? "" : ", ") + type(operand);
    }
    if (instruction.attributes.has_channel) {
      return fmt::format("\"stablehlo.{}\"({}) <{{{}}}>{} : ({}) -> {}", opcode, names,
                         properties(instruction), reducer(instruction), types, result);
    }
    return fmt::format("stablehlo.{} {}{} : ({}) -> {}", opcode, names, suffix(instruction), types,
                       result);
  }

  std::string properties(const Instruction& instruction) {
    std::string text;
    if (instruction.opcode == "all-gather") text += "all_gather_dim = 0 : i64, ";
    text += fmt::format(
        "channel_handle = #stablehlo.channel_handle<handle = {}, type = 1>, replica_groups = {}",
        ++channel_, dense_groups_of(instruction.attributes.groups));
    if (instruction.opcode == "reduce-scatter") text += ", scatter_dimension = 0 : i64";
    if (instruction.attributes.global_ids) text += ", use_global_device_ids";
    return text;
  }

  static std::string reducer(const Instruction& instruction) {
    if (instruction.called.empty()) return "";
    return " ({\n"
           "    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
           "      %sum = stablehlo.add %a, %b : tensor<f32>\n"
           "      stablehlo.return %sum : tensor<f32>\n"
           "    })";
  }

  static std::string suffix(const Instruction& instruction) {
    const Attributes& attributes = instruction.attributes;
    if (instruction.opcode == "slice") {
      return fmt::format(" [{}:{}]", attributes.starts[0], attributes.limits[0]);
    }
    if (instruction.opcode == "dynamic-slice") {
      return fmt::format(", sizes = [{}]", attributes.slice_sizes[0]);
    }
    if (instruction.opcode == "concatenate") return ", dim = 0";
    if (instruction.opcode == "transpose") {
      return fmt::format(", dims = [{}]", fmt::join(attributes.dimensions, ", "));
    }
    if (instruction.opcode == "broadcast") return ", dims = []";
    return "";
  }

  const Computation& computation_;
  int channel_ = 0;
};

}  // namespace

std::string to_hlo(const Module& module) {
  std::string text =
      fmt::format("HloModule {}, num_partitions={}\n", module.name, module.partitions.value_or(1));
  int channel = 0;
  for (const Computation& computation : module.computations) {
    const bool entry = &computation == &module.entry_computation();
    text += fmt::format("\n{}{} {{\n", entry ? "ENTRY " : "", computation.name);
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      const Instruction& instruction = computation.instructions[i];
      text += fmt::format("  {}{} = {} {}({}){}\n", i == computation.root ? "ROOT " : "",
                          instruction.name, to_string(instruction.shape), instruction.opcode,
                          operands_of(computation, instruction),
                          attributes_of(module, instruction, channel));
    }
    text += "}\n";
  }
  return text;
}

std::string to_stablehlo(const Module& module) {
  return fmt::format(
      "module @{} attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = 1 : i32}} {{\n"
      "{}}}\n",
      module.name, module.partitions.value_or(1),
      FunctionWriter(module.entry_computation()).text());
}

}  // namespace p2::hlo
