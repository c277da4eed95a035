#pragma once

#include <cstdint>
#include <random>

#include "engine/strategy/graph.h"

namespace p2::strategy {

/// A path of `least` to `most` vertices of 2 configurations each, and every other edge with chance
/// 1/5; one cost in 8 is 1, the others are 0.
Graph tied_graph(std::mt19937& random, std::uint32_t least, std::uint32_t most);

/// The same graph with costs moved between vertices and their edges: every strategy costs more by
/// one and the same number, as a sum of other numbers.
Graph disguised(Graph graph, std::mt19937& random);

/// The least cost of all strategies, one after the other.
Cost least_by_enumeration(const Graph& graph);

/// Moves on to the next of all strategies, the first of which chooses 0 everywhere; false
/// after the last one.
bool next_strategy(const Graph& graph, Strategy& strategy);

}  // namespace p2::strategy
