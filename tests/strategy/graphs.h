#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "engine/strategy/small_graphs.h"

namespace p2::strategy {

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
