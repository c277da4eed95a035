#pragma once

#include <cstddef>
#include <optional>
#include <vector>

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

// The bucket tree of an elimination order, binarised: all costs are summed up term by term, each
// partial sum over a small scope. Messages along the tree (Kask, Dechter, Larrosa and Dechter,
// "Unifying tree decompositions for reasoning in graphical models", 2005) give lower bounds of
// partial sums and of the rest.

/// A term of the cost of a strategy. The terms of a graph are its vertices' costs and then its
/// edges' tables, in their order.
struct CostTerm {
  std::vector<std::uint32_t> scope;          ///< the vertices that select the cell
  const std::vector<Cost>* cells = nullptr;  ///< of the graph
};

std::vector<CostTerm> cost_terms(const Graph& graph);

/// Adds a part to an earlier sum, or to nothing.
struct Addition {
  std::optional<std::size_t> sum;    ///< the number of the addition that made it
  std::size_t part = 0;              ///< a term or, from the number of terms on, an earlier sum
  std::vector<std::uint32_t> scope;  ///< the separator, ascending: vertices with several
                                     ///< configurations that have terms inside and outside the sum
};

/// A sequence of additions that sums up every term once, along the buckets of an elimination order.
/// The last one makes the total.
std::vector<Addition> additions(const Graph& graph, const std::vector<std::uint32_t>& order);

/// The assignments to the scopes of an addition's sum and part, with the cell that each selects in
/// three tables: the sum's, the part's and the result's. The last vertex of a scope varies fastest.
struct JoinAssignments {
  std::vector<std::size_t> sizes;       ///< configurations, by vertex
  std::vector<std::size_t> strides[3];  ///< by table and vertex
  std::size_t count = 1;                ///< of assignments
  std::size_t made = 1;                 ///< cells of the result

  /// Calls visit(sum's cell, part's, result's) for every assignment.
  template <typename Visit>
  void for_each(Visit visit) const {
    std::vector<std::size_t> choice(sizes.size(), 0);
    std::size_t at[] = {0, 0, 0};
    for (std::size_t n = 0; n < count; ++n) {
      visit(at[0], at[1], at[2]);
      for (std::size_t i = sizes.size(); i-- > 0;) {
        const bool carry = ++choice[i] == sizes[i];
        for (std::size_t table = 0; table < 3; ++table) {
          at[table] += strides[table][i];
          if (carry) at[table] -= strides[table][i] * sizes[i];
        }
        if (!carry) break;
        choice[i] = 0;
      }
    }
  }
};

/// By addition. Empty if there are more than `max_assignments` in all.
std::optional<std::vector<JoinAssignments>> join_assignments(const Graph& graph,
                                                             const std::vector<Addition>& additions,
                                                             std::size_t max_assignments);

/// Costs by addition and cell of its result.
using AdditionTables = std::vector<std::vector<Cost>>;

/// Upward messages: the least value of every sum, by the configurations of its scope. The terms
/// have their costs in `graph`.
AdditionTables least_sums(const Graph& graph, const std::vector<Addition>& additions,
                          const std::vector<JoinAssignments>& assignments);

/// Downward messages: the least value of all terms outside a sum, likewise.
AdditionTables least_rests(const Graph& graph, const std::vector<Addition>& additions,
                           const std::vector<JoinAssignments>& assignments,
                           const AdditionTables& least);

}  // namespace p2::strategy
