#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/export/hlo/module_writer.h"

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

std::string groups_of(const ReplicaGroups& groups) {
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

}  // namespace p2::hlo
