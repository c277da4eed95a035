#pragma once

#include <vector>

#include "engine/strategy/graph.h"

namespace p2::cnf {

/// A term of what a strategy costs: of a vertex, or of its edge to a vertex earlier in the order.
struct CostTerm {
  std::vector<std::uint32_t>
      scope;  ///< the vertices that it depends on; the last in the order last
  std::vector<strategy::Cost> cells;  ///< by their configurations; that of the last varies fastest
};

/// An order of the vertices in which few of them at a time have an edge to a later one: greedy, the
/// vertex next that leaves the fewest choices open, of equals the lowest.
std::vector<std::uint32_t> order_of_sums(const strategy::Graph& graph);

/// Every vertex in the order, each followed by its edges to earlier ones in the order of the graph.
std::vector<CostTerm> cost_terms(const strategy::Graph& graph,
                                 const std::vector<std::uint32_t>& order);

}  // namespace p2::cnf
