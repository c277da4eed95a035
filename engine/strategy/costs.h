#pragma once

#include "engine/strategy/operation.h"

namespace p2::operations {

/// Sums of parts of an all-reduce of one tensor: `words` per part, added up over `group` devices.
struct AllReduce {
  std::string tensor;  ///< for people: `output`, `gradient of weights 1`
  std::int64_t words = 0;
  std::vector<std::size_t> over;  ///< the dimensions that are split and that the tensor lacks
  std::int64_t group = 1;
};

/// What an operation does under a configuration; inputs without producer have no gradient, and
/// those that have one the shape of what it makes.
class OperationCost {
 public:
  OperationCost(const OperationGraph& graph, std::uint32_t operation);

  /// On the device with most to do.
  Wide computation(const Configuration& configuration) const;
  /// Partial sums forward, gradients of inputs and of weights backward; those over one device
  /// alone are left out.
  std::vector<AllReduce> all_reduces(const Configuration& configuration) const;
  /// Of the all-reduces, in rings: 2(P−1)/P times the words each.
  Wide communication(const Configuration& configuration) const;
  /// Bytes on a device: weights four times (with gradient and two moments of the optimizer), the
  /// output once, kept for the way back.
  Wide memory(const Configuration& configuration) const;

 private:
  struct Summed {
    std::string name;
    Tensor tensor;
  };

  const Operation& operation_;
  const Machine& machine_;
  std::vector<Summed> summed_;
};

/// What a tensor costs between two operations, forward and as a gradient backward: twice the words
/// of a part of the target that its device does not hold. That is the target's part without its
/// largest overlap with a part of the source, as if devices were assigned to make it so; without
/// any overlap where the source has fewer parts, for then some device holds none.
class TensorCost {
 public:
  TensorCost(const OperationGraph& graph, const TensorEdge& edge);

  Wide cost(const Configuration& from, const Configuration& to) const;

 private:
  const Machine& machine_;
  const Operation& target_;
  bool scattered_;
  Tensor source_axes_;
  Tensor target_axes_;  ///< with the lengths of the source
};

}  // namespace p2::operations
