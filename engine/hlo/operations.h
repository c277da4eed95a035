#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/hlo/flow.h"

namespace p2::hlo {

/// The kind of node for an instruction, from its opcode and the shapes of its operands.
Op operation_of(const Instruction& instruction, const std::vector<ArrayShape>& operands);

/// A barrier, which forwards all its operands: several as a tuple.
bool is_barrier(const Instruction& instruction);

/// Whether the result is the first operand: copies, barriers, the done of an asynchronous
/// operation, and custom calls that only say something to a compiler.
bool is_forwarding(const Instruction& instruction);

/// Whether the result is a function of the operands on the same device, but for what the
/// instruction calls: operations of XLA that are known to be, and custom calls known to be. Any
/// other may look at the operands of all devices.
bool is_local(const Instruction& instruction);

/// Whether the result is memory that nobody has written to, with whatever it contains: XLA's
/// `AllocateBuffer`.
bool allocates_memory(const Instruction& instruction);
bool allocates_memory(const Module& module);

/// Whether a custom call says that it has side effects.
bool says_side_effect(const Instruction& instruction);
/// Whether two executions may differ, or have side effects.
bool is_impure(const Instruction& instruction);

/// Whether a reducer gives the same, but for rounding, in whatever order it takes elements: sums,
/// products, extrema, `and`, `or` and `xor`, also of several arrays at once, and rounded.
bool is_free_of_order(const Computation& reducer);

/// Where elements lie in memory, if not in row-major order: what a bitcast reads depends on it.
std::string layouts_text(const Shape& shape);

/// Everything in the attributes that may change the result, but for what is called.
std::string attributes_text(const Instruction& instruction);

/// Properties of the computations of a module.
class ComputationSummaries {
 public:
  ComputationSummaries(const Module& module, Fingerprints& fingerprints);

  /// Equal for computations that are equal up to names and the order of instructions.
  std::uint32_t fingerprint(std::uint32_t computation) const { return fingerprints_[computation]; }
  /// Whether the result may depend on the device or on the values of other devices.
  bool depends_on_devices(std::uint32_t computation) const { return depends_[computation]; }
  /// Whether two executions may differ, or have side effects.
  bool is_impure(std::uint32_t computation) const { return impure_[computation]; }

  /// All properties of an instruction that decide its result, but for its operands.
  std::string describe(const Instruction& instruction) const;

 private:
  std::string file_;
  std::vector<std::uint32_t> fingerprints_;
  std::vector<bool> depends_;
  std::vector<bool> impure_;
};

/// Completes the nodes of a flow: fingerprint, reducer, groups, effects.
class NodeCompletion {
 public:
  /// Precondition: `flow.module` and `flow.devices` are set.
  NodeCompletion(Flow& flow, Fingerprints& fingerprints)
      : flow_(flow), summaries_(*flow.module, fingerprints), fingerprints_(fingerprints) {}

  /// Preconditions: op, outputs and operands are set. Throws IllFormed for illegal groups.
  void complete(Node& node, const Instruction& instruction);

 private:
  void identify(Node& node, const Instruction& instruction);
  void add_collective(Node& node, const Instruction& instruction);
  void add_effects(Node& node, const Instruction& instruction) const;

  Flow& flow_;
  ComputationSummaries summaries_;
  Fingerprints& fingerprints_;
  std::unordered_map<std::string, std::uint32_t> collectives_;  ///< by the text of their groups
};

}  // namespace p2::hlo
