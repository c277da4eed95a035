#pragma once

#include <cstdint>
#include <vector>

namespace p2::strategy {

using Cost = std::int64_t;

/// The largest cost of every vertex and of every edge together stay below this, so that no sum of
/// parts of a strategy, and no difference of such sums, overflows.
constexpr Cost kCostEnd = Cost{1} << 62U;

/// Two vertices and what every pair of their configurations costs.
struct Edge {
  std::uint32_t first = 0;
  std::uint32_t second = 0;  ///< another vertex
  std::vector<Cost> table;   ///< row by row; a row per configuration of `first`
};

/// What a strategy costs: the cost of the configuration chosen at every vertex, and the cell of
/// every edge at the two that it joins. Costs are not negative.
struct Graph {
  std::vector<std::vector<Cost>> costs;  ///< by vertex and configuration; no vertex without one
  std::vector<Edge> edges;               ///< first < second, ascending, no pair twice

  std::size_t vertices() const { return costs.size(); }
  std::size_t configurations(std::uint32_t vertex) const { return costs[vertex].size(); }
};

/// The configuration of every vertex, by number.
using Strategy = std::vector<std::uint32_t>;

/// Whether the largest costs add up to less than kCostEnd.
bool sums_fit(const Graph& graph);

Cost cost_of(const Graph& graph, const Strategy& strategy);

/// For every vertex some of its configurations, ascending.
using Kept = std::vector<std::vector<std::uint32_t>>;
Kept all_configurations(const Graph& graph);
/// The graph with the kept configurations only, which are numbered anew.
Graph restricted(const Graph& graph, const Kept& kept);

}  // namespace p2::strategy
