#pragma once

#include <vector>

#include "engine/strategy/operation.h"
#include "engine/strategy/graph_file.h"

namespace p2::operations {

/// A strategy that people would choose: one configuration per operation.
struct KnownShape {
  std::string name;
  std::vector<Configuration> configurations;
};

/// Data parallelism, which splits the batch over all devices, and expert strategies, which split
/// the batch d ways and besides the dimension that makes the layers of a model meet least t ways
/// (heads, the columns and then the rows of a pair of matrices, vocabulary, experts), d · t = p, by
/// t. Each only where every operation can be split so; an operation without that dimension is the
/// same on t devices.
std::vector<KnownShape> known_shapes(const OperationGraph& graph);

/// Bytes on a device.
strategy::Cost memory_of_shape(const OperationGraph& graph, const KnownShape& shape);

/// What data parallelism and the cheapest of the expert strategies cost.
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

/// In the model without places.
strategy::Cost cost_of_shape(const OperationGraph& graph, const KnownShape& shape);

}  // namespace p2::operations
