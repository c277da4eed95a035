#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/strategy/graph.h"

namespace p2::strategy {

/// A term of what a strategy costs: that of a vertex, or of an edge. The terms of a graph are those
/// of its vertices and then those of its edges, in their order.
struct CostTerm {
  std::vector<std::uint32_t> scope;          ///< the vertices that choose the cell
  const std::vector<Cost>* cells = nullptr;  ///< of the graph
};

std::vector<CostTerm> cost_terms(const Graph& graph);

/// Makes a sum of an earlier one, or of nothing, and a part.
struct Addition {
  std::optional<std::size_t> sum;    ///< number of the addition that made it
  std::size_t part = 0;              ///< a term, or, from their number on, an earlier sum
  std::vector<std::uint32_t> scope;  ///< ascending: vertices with more than one configuration which
                                     ///< have terms in the sum and elsewhere
};

/// How all terms are added up, each once, so that scopes stay small: as the vertices are eliminated
/// in an order (engine/strategy/elimination_order.h). The last addition makes the whole.
std::vector<Addition> additions(const Graph& graph, const std::vector<std::uint32_t>& order);

}  // namespace p2::strategy
