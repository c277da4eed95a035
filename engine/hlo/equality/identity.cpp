// Whether two modules are the same operations on the same operands, whatever the sizes: hash
// consing of their data-flow graphs.

#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/equality/comparison.h"

namespace p2::hlo {
namespace {

/// All that decides the results of a node but its operands; nothing for one of which two executions
/// may differ.
std::optional<std::string> text_of(const Flow& flow, const Node& node) {
  if (node.impure) return std::nullopt;
  const Attributes& attributes = node.instruction->attributes;
  std::string text = node.op == Op::Parameter
                         ? fmt::format("parameter {}", node.parameter)
                         : fmt::format("{} {} {} {} {}", static_cast<int>(node.op),
                                       base_opcode(node.instruction->opcode), node.fingerprint,
                                       node.called, attributes.accuracy);
  // Layouts decide what a bitcast is; a custom call may look at them and at shardings.
  const bool opaque = node.op == Op::Opaque;
  if (opaque && node.instruction->opcode == "bitcast") return std::nullopt;
  for (const ArrayShape& shape : node.outputs) {
    text += " " + to_string(shape);
    if (opaque) text += fmt::format("{{{}}}", fmt::join(shape.minor_to_major, ","));
  }
  if (opaque) {
    text += " " + attributes.sharding;
    for (const auto& [name, value] : attributes.shardy) text += fmt::format(" {}={}", name, value);
  }
  if (node.collective != kNone) {
    const Collective& collective = flow.collectives[node.collective];
    for (const auto& group : collective.groups) text += fmt::format(" ({})", fmt::join(group, ","));
    text += fmt::format(" from {}", fmt::join(collective.source, ","));
  }
  return text;
}

/// The outputs as numbers, equal for equal operations on equal operands.
std::optional<std::vector<std::uint32_t>> outputs_of(const Flow& flow, Fingerprints& fingerprints) {
  std::vector<std::uint32_t> numbers;
  const auto number_of = [&](Ref ref) {
    return fingerprints.intern(fmt::format("output {} of {}", ref.output, numbers[ref.node]));
  };
  for (const Node& node : flow.nodes) {
    std::optional<std::string> text = text_of(flow, node);
    if (!text) return std::nullopt;
    for (const Ref operand : node.operands) *text += fmt::format(" #{}", number_of(operand));
    numbers.push_back(fingerprints.intern("node " + *text));
  }
  std::vector<std::uint32_t> outputs;
  for (const Ref ref : flow.outputs) outputs.push_back(number_of(ref));
  return outputs;
}

}  // namespace

bool are_identical(const Flow& before, const Flow& after, Fingerprints& fingerprints) {
  const auto first = outputs_of(before, fingerprints);
  return first && first == outputs_of(after, fingerprints);
}

}  // namespace p2::hlo
