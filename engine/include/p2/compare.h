#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p2/answer.h"
#include "p2/float_equality.h"

namespace p2 {

/// Two modules of XLA (HLO text) or StableHLO (MLIR text) with the same inputs and outputs, e.g.
/// before and after a compiler pass. One may be HLO and the other StableHLO.
struct CompareRequest {
  std::string before;  ///< path
  std::string after;   ///< path
  /// Floating-point sums must also be added in the same order: addition is commutative and not
  /// associative.
  bool ordered = false;
  /// Of two partitioned modules: inputs are the same on all devices where the module before says
  /// so, by `sharding={replicated}` or `parameter_replication={true}`. A note in `diagnostics` says
  /// where this has no effect.
  bool replicated_inputs = false;
  /// The sense in which the modules have to be equal.
  FloatEquality numbers = FloatEquality::Real;
  /// The devices that run the modules, at most 65,536 in all. Absent: as the modules say, else the
  /// smallest numbers that contain all ids in their groups.
  std::optional<std::uint64_t> replicas = {};
  std::optional<std::uint64_t> partitions = {};
};

/// An element of an output, and its value in both modules in terms of their inputs.
struct ElementDifference {
  std::uint32_t device = 0;  ///< replica × partitions + partition
  std::int64_t replica = 0;
  std::int64_t partition = 0;
  std::size_t output = 0;  ///< number of the array in the root, from left to right
  std::vector<std::int64_t> index;
  std::string before;  ///< `x[0,0] of devices 0–7`
  std::string after;
};

/// One result, whose subject is `after`. Rules of the counterexample: `contributions` (an element
/// is another function of the inputs), `order` (the sums are equal, the orders of addition are
/// not), `signature` (other inputs or outputs), and `shapes`, `groups`, `pairs`, `operands` for a
/// module that is not well-formed.
struct CompareAnswer : Answer {
  /// When refuted by `contributions` or `order`: where. When undecided: an element whose values may
  /// be equal or not, because of the operations in `uninterpreted`.
  std::optional<ElementDifference> element;
  std::int64_t replicas = 1;
  std::int64_t partitions = 1;
  bool devices_assumed = false;  ///< nothing gives their number
  /// The sense in which the outcome holds; a refutation is of real numbers. When undecided: the
  /// sense asked for, and in `shown` the strictest in which the modules are equal, if in any.
  FloatEquality numbers = FloatEquality::Real;
  std::optional<FloatEquality> shown;
  /// Opcodes that were compared as uninterpreted functions: equal on equal operands. An Established
  /// answer holds whatever they compute.
  std::vector<std::string> uninterpreted;
};

/// Decides whether all outputs of `after` are equal to those of `before` on every device, for all
/// inputs. Floating-point numbers are compared as `numbers` says, integers are integers modulo
/// 2^bits. A limit makes the answer Undecided. Throws InputError for a file that cannot be read or
/// parsed, and if the number of devices is needed and unknown.
///
///     const p2::CompareAnswer answer = p2::compare({"before.hlo", "after.hlo"}, {});
///     if (answer.element) std::cout << "device " << answer.element->device << " differs\n";
CompareAnswer compare(const CompareRequest& request, const Options& options);

}  // namespace p2
