#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/export/hlo/module_writer.h"

namespace p2::hlo {
namespace {

std::string type_of(const ArrayShape& shape) {
  std::string text = "tensor<";
  for (const std::int64_t size : shape.sizes) text += fmt::format("{}x", size);
  const std::string_view name = shape.type.name();
  if (name == "s32") return text + "i32>";
  if (name == "u32") return text + "ui32>";
  return text + std::string(name) + ">";
}

std::string literal_of(const Literal& literal) {
  const char* const suffix = literal.shape.type.is_float() ? ".0" : "";
  std::string list;
  for (const LiteralElement& element : literal.elements) {
    list += (list.empty() ? "" : ", ") + to_string(element.number) + suffix;
  }
  return fmt::format("dense<{}>", literal.shape.sizes.empty() ? list : "[" + list + "]");
}

std::string groups_of(const ReplicaGroups& groups) {
  std::size_t width = 0;
  for (const auto& group : groups.lists) width = std::max(width, group.size());
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
      return fmt::format("stablehlo.constant {} : {}", literal_of(*instruction.literal), result);
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
        ++channel_, groups_of(instruction.attributes.groups));
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
    if (instruction.opcode == "broadcast") return ", dims = []";
    return "";
  }

  const Computation& computation_;
  int channel_ = 0;
};

}  // namespace

std::string to_stablehlo(const Module& module) {
  return fmt::format(
      "module @{} attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = 1 : i32}} {{\n"
      "{}}}\n",
      module.name, module.partitions.value_or(1),
      FunctionWriter(module.entry_computation()).text());
}

}  // namespace p2::hlo
