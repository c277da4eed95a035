#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/strategy/graph.h"

namespace p2::strategy {

/// Names of a vertex and its configurations, for display.
struct VertexLabel {
  std::string name;                         ///< the operation and the id: `Conv 3`
  std::vector<std::string> configurations;  ///< as in the file, `[1,4]`, or their numbers
};

/// A standard strategy to compare with, and its cost.
struct KnownStrategy {
  std::string name;
  Cost cost = 0;
  std::optional<Cost> memory = {};  ///< bytes on a device, where that is known
};

/// A file of the format `pairwise-strategy-graph/1` (docs/strategy.md).
struct GraphFile {
  Graph graph;  ///< vertices in the order of the file, costs rounded, parallel edges summed
  std::vector<VertexLabel> labels;
  /// Data parallelism where the file determines it: by `p`, `batch` and the dimensions of all
  /// vertices.
  std::vector<KnownStrategy> known = {};
  /// Where the file gives it for every vertex.
  std::optional<Memory> memory = {};
  /// The part of a vertex's cost that is communication; empty where unknown.
  std::vector<std::vector<Cost>> communication = {};
};

/// Throws InputError at the first violation of the format: a missing or misshapen table, a negative
/// cost, costs that add up to kCostEnd or more, a vertex without configuration.
GraphFile read_graph(const std::string& source, const std::string& text);

}  // namespace p2::strategy
