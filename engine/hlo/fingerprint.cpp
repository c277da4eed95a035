#include "engine/hlo/fingerprint.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/devices.h"

namespace p2::hlo {
namespace {

std::string literal_text(const Literal& literal, const std::string& place) {
  if (literal.elided) return "elided in " + place;  // says nothing: its place stands for it
  std::string text;
  for (const LiteralElement& element : literal.elements) {
    text += element.text.empty() ? to_string(element.number) : element.text;
    text += ' ';
  }
  return text;
}

std::string groups_text(const ReplicaGroups& groups) {
  if (groups.all_in_one) return "all";
  std::string text;
  for (const auto& group : groups.lists) text += fmt::format("{{{}}}", fmt::join(group, ","));
  return text;
}

std::string attributes_text(const Attributes& attributes) {
  std::string pairs;
  for (const auto& [source, target] : attributes.pairs)
    pairs += fmt::format("{}>{} ", source, target);
  return fmt::format("d{} s{} l{} t{} z{} g{} c{} u{} p{} c{} i{} {} {}",
                     fmt::join(attributes.dimensions, ","), fmt::join(attributes.starts, ","),
                     fmt::join(attributes.limits, ","), fmt::join(attributes.strides, ","),
                     fmt::join(attributes.slice_sizes, ","), groups_text(attributes.groups),
                     attributes.has_channel, attributes.global_ids.value_or(false), pairs,
                     attributes.concat_dimension.value_or(-1), attributes.index,
                     attributes.direction, attributes.others);
}

}  // namespace

std::uint32_t Fingerprints::of(const std::string& text) {
  const auto [found, added] = numbers_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
  if (added) texts_.push_back(&found->first);
  return found->second;
}

bool is_impure(const Instruction& instruction) {
  constexpr auto kOpcodes =
      std::to_array<std::string_view>({"rng", "infeed", "outfeed", "send", "send-done", "recv",
                                       "recv-done", "after-all", "rng-get-and-update-state"});
  if (std::find(kOpcodes.begin(), kOpcodes.end(), instruction.opcode) != kOpcodes.end())
    return true;
  return instruction.opcode == "custom-call" &&
         instruction.attributes.others.find("custom_call_has_side_effect=true") !=
             std::string::npos;
}

ComputationFacts::ComputationFacts(const Module& module, Fingerprints& fingerprints)
    : file_(module.file) {
  for (const Computation& computation : module.computations) {
    std::string text = fmt::format("root {};", computation.root);
    bool asks = false;
    bool impure = false;
    for (const Instruction& instruction : computation.instructions) {
      text += describe(instruction) + fmt::format("({});", fmt::join(instruction.operands, ","));
      asks = asks || instruction.opcode == "partition-id" || instruction.opcode == "replica-id" ||
             is_collective(base_opcode(instruction.opcode));
      impure = impure || hlo::is_impure(instruction);
      for (const std::uint32_t called : instruction.called) {
        asks = asks || asks_devices_[called];
        impure = impure || impure_[called];
      }
    }
    fingerprints_.push_back(fingerprints.of(text));
    asks_devices_.push_back(asks);
    impure_.push_back(impure);
  }
}

std::string ComputationFacts::describe_groups(const Instruction& instruction) {
  const Attributes& attributes = instruction.attributes;
  std::string text = fmt::format("{} {} {} ", base_opcode(instruction.opcode),
                                 attributes.has_channel, attributes.global_ids.value_or(false));
  for (const auto& [source, target] : attributes.pairs)
    text += fmt::format("{}>{} ", source, target);
  return text + groups_text(attributes.groups);
}

std::string ComputationFacts::describe(const Instruction& instruction) const {
  std::string text = fmt::format("{} {} {}", instruction.opcode, to_string(instruction.shape),
                                 attributes_text(instruction.attributes));
  if (instruction.literal)
    text += " = " + literal_text(*instruction.literal, file_ + instruction.name);
  for (const std::uint32_t called : instruction.called) {
    text += fmt::format(" #{}", fingerprints_[called]);
  }
  return text;
}

}  // namespace p2::hlo
