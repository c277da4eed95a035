#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/strategy/graph.h"

namespace p2::strategy {

/// What a file says of a vertex for people.
struct VertexLabel {
  std::string name;                         ///< the operation and the id: `Conv 3`
  std::vector<std::string> configurations;  ///< as in the file, `[1,4]`, or their numbers
};

/// A strategy that people would choose, and what it costs.
struct KnownStrategy {
  std::string name;
  Cost cost = 0;
  std::optional<Cost> memory = {};  ///< bytes on a device, where that is known
};

/// A file of the format `pairwise-strategy-graph/1` (docs/strategy.md).
struct GraphFile {
  Graph graph;  ///< vertices in the order of the file, costs rounded, parallel edges summed
  std::vector<VertexLabel> labels;
  /// Data parallelism where the file says which strategy that is: by `p`, `batch` and the
  /// dimensions of all vertices.
  std::vector<KnownStrategy> known = {};
  /// Bytes on a device by vertex and configuration, where the file says that of every vertex.
  std::optional<std::vector<std::vector<Cost>>> memory = {};
  /// How much of the cost of a vertex is communication; empty where that is not known.
  std::vector<std::vector<Cost>> communication = {};
};

/// Throws InputError at the first thing that is not as the format says: a missing or misshapen
/// table, a negative cost, costs that add up to kCostEnd or more, a vertex without configuration.
GraphFile read_graph(const std::string& source, std::string text);

}  // namespace p2::strategy
