#pragma once

#include <vector>

#include "engine/operations/operation.h"
#include "engine/strategy/graph_file.h"

namespace p2::operations {

/// Data parallelism, which splits the batch over all devices, and the expert strategy, which splits
/// the batch d ways and besides the dimension that makes the layers of a model meet least t ways
/// (heads, the columns and then the rows of a pair of matrices, vocabulary, experts), d · t = p: the
/// cheapest shape. Each only where every operation can be split so; an operation without that
/// dimension is the same on t devices.
std::vector<strategy::KnownStrategy> known_strategies(const OperationGraph& graph);

}  // namespace p2::operations
