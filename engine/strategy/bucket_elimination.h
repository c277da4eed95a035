#pragma once

#include <optional>

#include "engine/strategy/graph.h"
#include "p2/limits.h"

namespace p2::strategy {

/// An order in which vertices are eliminated, and its cost. Counters saturate.
struct EliminationOrder {
  std::vector<std::uint32_t> vertices;
  std::uint64_t cells = 0;             ///< of all tables made
  std::uint64_t additions = 0;         ///< over all tables and configurations
  std::vector<std::uint32_t> largest;  ///< the vertices of the largest bucket, if any
};

/// The cheaper of the orders of two greedy heuristics, min-weight (the smallest table next) and
/// min-fill (the fewest fill edges next): Bodlaender and Koster, "Treewidth computations I", 2010.
/// Ties go to the lowest number. Edges of vertices with one configuration cause no fill: they are
/// unary costs of their neighbours.
EliminationOrder elimination_order(const Graph& graph);

/// A strategy of least cost.
struct Optimum {
  Cost cost = 0;
  Strategy strategy;
};

/// Bucket elimination (Dechter, "Bucket elimination: a unifying framework for reasoning", 1999): a
/// vertex is minimised out of the sum of its tables, and the strategy is read off in reverse order;
/// among equal costs the lowest configuration. Keeps `order.cells` costs. Empty if a limit is
/// reached.
std::optional<Optimum> eliminate(const Graph& graph, const EliminationOrder& order,
                                 const Limits& limits);

}  // namespace p2::strategy
