#pragma once

#include <string>
#include <vector>

#include "engine/strategy/placed/choice.h"
#include "engine/strategy/graph_file.h"

namespace p2::operations {

/// A collective that a strategy needs, and how often.
struct NeededCollective {
  std::string operation;  ///< the first one that needs it
  std::string tensor;
  std::int64_t words = 0;  ///< of a device's buffer
  DeviceGrid grid;
  ReductionAxes axes;
  std::size_t times = 1;
};

/// An operation graph on the devices of a system: a choice is a configuration and a placement.
struct PlacedGraph {
  strategy::GraphFile file;
  std::vector<std::vector<PlacedConfiguration>> choices;  ///< by operation

  /// The all-reduces of a strategy; those of one size on one placement once.
  std::vector<NeededCollective> collectives(const OperationGraph& graph,
                                            const strategy::Strategy& strategy) const;
};

/// Prices are those of PlacedPrices. Throws std::invalid_argument as pairwise() does, and where
/// the system has another number of devices.
PlacedGraph placed_graph(const OperationGraph& graph, const System& system);

}  // namespace p2::operations
