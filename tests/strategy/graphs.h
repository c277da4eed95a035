#pragma once

#include <algorithm>
#include <random>
#include <string>

#include "engine/strategy/graph.h"

namespace p2::strategy {

/// Any connected or disconnected graph of at most `most` vertices with costs from 0 to `dearest`:
/// with few costs, many strategies cost the same.
inline Graph random_graph(std::mt19937& random, std::uint32_t most, Cost dearest) {
  const auto below = [&](std::uint64_t end) { return random() % end; };
  const auto costs = [&](std::size_t count) {
    std::vector<Cost> made(count);
    for (Cost& cost : made)
      cost = static_cast<Cost>(below(static_cast<std::uint64_t>(dearest) + 1));
    return made;
  };
  Graph graph;
  const std::uint64_t vertices = 1 + below(most);
  for (std::uint64_t v = 0; v < vertices; ++v) graph.costs.push_back(costs(1 + below(4)));
  const std::uint64_t density = 1 + below(3);
  for (std::uint32_t a = 0; a < vertices; ++a) {
    for (std::uint32_t b = a + 1; b < vertices; ++b) {
      if (below(3) >= density) continue;
      graph.edges.push_back({a, b, costs(graph.configurations(a) * graph.configurations(b))});
    }
  }
  return graph;
}

/// The least cost of all strategies, one after the other.
inline Cost least_by_enumeration(const Graph& graph) {
  Strategy strategy(graph.vertices(), 0);
  Cost least = kCostEnd;
  for (;;) {
    least = std::min(least, cost_of(graph, strategy));
    std::uint32_t v = 0;
    while (v < graph.vertices() && ++strategy[v] == graph.configurations(v)) strategy[v++] = 0;
    if (v == graph.vertices()) return least;
  }
}

inline std::string shown(const Graph& graph) {
  std::string text;
  for (const auto& costs : graph.costs) {
    for (const Cost cost : costs) text += std::to_string(cost) + " ";
    text += "| ";
  }
  for (const Edge& edge : graph.edges) {
    text += std::to_string(edge.first) + "-" + std::to_string(edge.second) + ": ";
    for (const Cost cost : edge.table) text += std::to_string(cost) + " ";
  }
  return text;
}

}  // namespace p2::strategy
