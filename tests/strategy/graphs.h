#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "engine/strategy/paper_algorithm.h"

namespace p2::strategy {

/// Any graph of 1 to `most` vertices, connected or not, of 1 to 4 configurations each, with costs
/// from 0 to `dearest`: with few costs, many strategies cost the same. The same for the same state
/// of `random` on every machine: distributions of the library differ from one to the next.
inline Graph random_graph(std::mt19937& random, std::uint32_t most, Cost dearest) {
  const auto costs = [&](std::size_t count) {
    std::vector<Cost> made(count);
    for (Cost& cost : made) {
      cost = static_cast<Cost>(random() % (static_cast<std::uint64_t>(dearest) + 1));
    }
    return made;
  };
  Graph graph;
  const std::uint64_t vertices = 1 + random() % most;
  for (std::uint64_t v = 0; v < vertices; ++v) graph.costs.push_back(costs(1 + random() % 4));
  const std::uint64_t density = 1 + random() % 3;
  for (std::uint32_t a = 0; a < vertices; ++a) {
    for (std::uint32_t b = a + 1; b < vertices; ++b) {
      if (random() % 3 >= density) continue;
      graph.edges.push_back({a, b, costs(graph.configurations(a) * graph.configurations(b))});
    }
  }
  return graph;
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

/// A strategy of the graph that costs this, if there is one.
inline std::optional<Strategy> costing(const Graph& graph, Cost cost) {
  Strategy strategy(graph.vertices(), 0);
  do {
    if (cost_of(graph, strategy) == cost) return strategy;
  } while (next_strategy(graph, strategy));
  return std::nullopt;
}

}  // namespace p2::strategy
