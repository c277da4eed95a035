#pragma once

#include <vector>

#include "engine/strategy/graph.h"
#include "engine/strategy/operation.h"

namespace p2::operations {

/// An all-reduce of `words` words over groups of `group` devices.
struct AllReduce {
  std::string tensor;  ///< for display: `output`, `gradient of weights 1`
  std::int64_t words = 0;
  std::vector<std::size_t> over;  ///< the split dimensions that the tensor lacks
  std::int64_t group = 1;
};

/// The cost of an operation by configuration. Inputs without a producer have no gradient; the
/// others have their producer's shape.
class OperationCost {
 public:
  OperationCost(const OperationGraph& graph, std::uint32_t operation);

  /// On the most loaded device.
  Wide computation(const Configuration& configuration) const;
  /// Partial sums forward, gradients of inputs and of weights backward; groups of one device are
  /// omitted.
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

/// The cost of resharding a tensor between two operations, forward and as a gradient backward:
/// twice the words of a part of the target that its device does not hold. Devices are assumed to be
/// assigned such that every part of the target overlaps most with the local part of the source;
/// where the source has fewer parts, some device holds none and there is no overlap.
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

enum class DeviceUse : std::uint8_t {
  AtMost,    ///< any number of the devices
  Dividing,  ///< a number that divides that of the devices
  All        ///< all of them, or as many as the operation can use
};

/// All ways to split the operation's dimensions into equal parts, ascending. Throws SketchError
/// where there are more than 2^16.
std::vector<Configuration> configurations(const Operation& operation, std::int64_t devices,
                                          DeviceUse use);

/// `b/4 n/2`, or `whole`.
std::string configuration_text(const Operation& operation, const Configuration& configuration);

/// An operation graph as input of the search.
struct PairwiseGraph {
  strategy::GraphFile file;
  std::vector<std::vector<Configuration>> configurations;  ///< by operation
};

/// The cost as a number of the search. Throws SketchError where it is strategy::kCostEnd or more.
strategy::Cost checked(Wide cost);

/// Costs in operations of a device, and the costs of known strategies: data parallelism and the
/// best expert strategy. Throws SketchError where costs add up to strategy::kCostEnd or more, or
/// tables have more than 2^27 cells.
PairwiseGraph pairwise(const OperationGraph& graph, DeviceUse use);

/// A standard strategy: one configuration per operation.
struct KnownShape {
  std::string name;
  std::vector<Configuration> configurations;
};

/// Data parallelism, and expert strategies, which combine data parallelism of degree d with tensor
/// parallelism of degree t, d · t = p, by t (Shoeybi et al., "Megatron-LM", 2019): heads, the
/// columns and then the rows of a pair of matrices, vocabulary, experts. Each only where every
/// operation can be split accordingly; operations without that dimension are replicated t times.
std::vector<KnownShape> known_shapes(const OperationGraph& graph);

/// Bytes on a device.
strategy::Cost memory_of_shape(const OperationGraph& graph, const KnownShape& shape);

/// The costs of data parallelism and of the cheapest expert strategy.
template <typename CostOf>
std::vector<strategy::KnownStrategy> known_strategies(const OperationGraph& graph,
                                                      const CostOf& cost_of) {
  std::vector<strategy::KnownStrategy> known;
  for (const KnownShape& shape : known_shapes(graph)) {
    const strategy::Cost cost = cost_of(shape);
    const bool both_experts = !known.empty() && shape.name.starts_with("expert") &&
                              known.back().name.starts_with("expert");
    if (both_experts && cost >= known.back().cost) continue;
    if (both_experts) known.pop_back();
    known.push_back({shape.name, cost, memory_of_shape(graph, shape)});
  }
  return known;
}

/// In the model without placements.
strategy::Cost cost_of_shape(const OperationGraph& graph, const KnownShape& shape);

}  // namespace p2::operations
