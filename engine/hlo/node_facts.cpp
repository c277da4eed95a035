#include "engine/hlo/node_facts.h"

#include <fmt/format.h>

namespace p2::hlo {

void NodeFacts::complete(Node& node, const Instruction& instruction) {
  identify(node, instruction);
  if (is_collective(base_opcode(instruction.opcode))) add_collective(node, instruction);
  note_effects(node, instruction);
}

void NodeFacts::identify(Node& node, const Instruction& instruction) {
  if (node.op == Op::Elementwise) {
    // What it does with each element, whatever the sizes.
    const Attributes& attributes = instruction.attributes;
    std::string text =
        fmt::format("{} {} {} of", instruction.opcode, attributes.direction, attributes.others);
    for (const Ref ref : node.operands) text += fmt::format(" {}", flow_.shape(ref).type.name());
    node.fingerprint = fingerprints_.of(text + fmt::format(" to {}", node.outputs[0].type.name()));
    if (node.operands.size() == 2) {
      node.reducer = reducer_of(instruction.opcode, node.outputs[0].type);
    }
    return;
  }
  node.fingerprint = fingerprints_.of(facts_.describe(instruction));
  if (instruction.called.empty()) return;
  node.called = facts_.fingerprint(instruction.called[0]);
  node.reducer = reducer_of(flow_.module->computations[instruction.called[0]]);
}

void NodeFacts::add_collective(Node& node, const Instruction& instruction) {
  if (node.op == Op::Opaque) {
    node.asks_devices = true;
    return;
  }
  const auto [known, added] = collectives_.emplace(
      facts_.describe_groups(instruction), static_cast<std::uint32_t>(flow_.collectives.size()));
  if (added) {
    flow_.collectives.push_back(resolve(instruction, flow_.module->language, flow_.devices));
  }
  node.collective = known->second;
}

void NodeFacts::note_effects(Node& node, const Instruction& instruction) const {
  if (node.op != Op::Opaque) return;
  node.impure = is_impure(instruction);
  for (const std::uint32_t called : instruction.called) {
    node.asks_devices = node.asks_devices || facts_.asks_devices(called);
    node.impure = node.impure || facts_.is_impure(called);
  }
}

}  // namespace p2::hlo
