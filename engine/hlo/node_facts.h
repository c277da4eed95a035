#pragma once

#include <string>
#include <unordered_map>

#include "engine/hlo/flow.h"

namespace p2::hlo {

/// Fills in what a node of a flow is, from its instruction: who takes part, and what makes it equal
/// to another one.
class NodeFacts {
 public:
  /// The module of `flow` has to be known.
  NodeFacts(Flow& flow, Fingerprints& fingerprints)
      : flow_(flow), facts_(*flow.module, fingerprints), fingerprints_(fingerprints) {}

  /// Preconditions: op, outputs and operands are set. Throws IllFormed for groups that are not
  /// legal.
  void complete(Node& node, const Instruction& instruction);

 private:
  void identify(Node& node, const Instruction& instruction);
  void add_collective(Node& node, const Instruction& instruction);
  void note_effects(Node& node, const Instruction& instruction) const;

  Flow& flow_;
  ComputationFacts facts_;
  Fingerprints& fingerprints_;
  std::unordered_map<std::string, std::uint32_t> collectives_;  ///< by what they say of groups
};

}  // namespace p2::hlo
