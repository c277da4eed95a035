#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace p2::strategy {

using Cost = std::int64_t;
/// For intermediate results: products of two costs do not overflow it.
__extension__ using Wide = __int128;

/// The largest costs of all vertices and edges add up to less than this, so that neither a sum of
/// parts of a strategy nor a difference of such sums overflows.
constexpr Cost kCostEnd = Cost{1} << 62U;

/// Two vertices and the cost of every pair of their configurations.
struct Edge {
  std::uint32_t first = 0;
  std::uint32_t second = 0;  ///< another vertex
  std::vector<Cost> table;   ///< row-major; a row per configuration of `first`
};

/// A weighted constraint network with unary and binary cost functions: the cost of a strategy is
/// the sum over vertices of the chosen configuration's cost and over edges of the table's cell.
/// Costs are not negative.
struct Graph {
  std::vector<std::vector<Cost>> costs;  ///< by vertex and configuration; no vertex without one
  std::vector<Edge> edges;               ///< first < second, ascending, no pair twice

  std::size_t vertices() const { return costs.size(); }
  std::size_t configurations(std::uint32_t vertex) const { return costs[vertex].size(); }
};

/// The number of the chosen configuration, by vertex.
using Strategy = std::vector<std::uint32_t>;

/// Whether the largest costs add up to less than kCostEnd.
bool sums_fit(const Graph& graph);

Cost cost_of(const Graph& graph, const Strategy& strategy);

/// A subset of the configurations of every vertex, ascending.
using Kept = std::vector<std::vector<std::uint32_t>>;
Kept all_configurations(const Graph& graph);
/// The graph with the kept configurations only, renumbered.
Graph restricted(const Graph& graph, const Kept& kept);

/// Bytes on a device by vertex and configuration.
using Memory = std::vector<std::vector<Cost>>;
Cost memory_of(const Memory& memory, const Strategy& strategy);
/// The rows of the kept configurations.
Memory restricted(const Memory& memory, const Kept& kept);

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
