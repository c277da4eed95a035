#pragma once

#include "engine/strategy/operation.h"
#include "engine/strategy/graph_file.h"

namespace p2::operations {

enum class DeviceUse : std::uint8_t {
  AtMost,    ///< any number of the devices
  Dividing,  ///< a number that divides that of the devices
  All        ///< all of them, or as many as the operation can use
};

/// Every way to split the operation's dimensions into equal parts, ascending. Throws
/// std::invalid_argument where there are more than 2^16.
std::vector<Configuration> configurations(const Operation& operation, std::int64_t devices,
                                          DeviceUse use);

/// `b/4 n/2`, or `whole`.
std::string configuration_text(const Operation& operation, const Configuration& configuration);

/// An operation graph as the search takes it.
struct PairwiseGraph {
  strategy::GraphFile file;
  std::vector<std::vector<Configuration>> configurations;  ///< by operation
};

/// Costs in operations of a device, and what known strategies choose: data parallelism, and the
/// expert strategy that is best of all its shapes. Throws std::invalid_argument where costs add up
/// to strategy::kCostEnd or more, or tables have more than 2^27 cells.
PairwiseGraph pairwise(const OperationGraph& graph, DeviceUse use);

}  // namespace p2::operations
