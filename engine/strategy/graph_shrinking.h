#pragma once

#include <cstddef>
#include <tuple>
#include <vector>

#include "engine/strategy/graph.h"

namespace p2::strategy {

/// How large a graph is, to compare: vertices, edges, configurations, all costs together.
std::tuple<std::size_t, std::size_t, std::size_t, Cost> size_of(const Graph& graph);

/// The graphs that are smaller by one thing: a vertex, an edge, a configuration, or a cost that is
/// 0 or one less. In this order.
std::vector<Graph> smaller(const Graph& graph);

}  // namespace p2::strategy
