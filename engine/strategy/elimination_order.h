#pragma once

#include "engine/strategy/graph.h"

namespace p2::strategy {

/// An order in which vertices are minimised out one by one, and what that takes. Numbers too large
/// for their type are the largest there is.
struct EliminationOrder {
  std::vector<std::uint32_t> vertices;
  std::uint64_t cells = 0;             ///< of all tables that are made
  std::uint64_t additions = 0;         ///< over all tables and configurations
  std::vector<std::uint32_t> largest;  ///< the vertices that meet in the largest table, if any
};

/// Greedy: the vertex whose elimination makes the smallest table, or joins the fewest pairs of
/// vertices; whichever order takes less work in the end. Ties go to the lowest number. Vertices of
/// one configuration join nothing: their edges are costs of their neighbours.
EliminationOrder elimination_order(const Graph& graph);

}  // namespace p2::strategy
