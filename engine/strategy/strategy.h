#pragma once

#include <optional>
#include <vector>

#include "engine/strategy/bucket_elimination.h"
#include "engine/strategy/graph.h"
#include "p2/limits.h"

namespace p2::strategy {

/// A dominated configuration (soft neighbourhood substitutability: Lecoutre, Roussel and Dehani,
/// "WCSP integration of soft neighborhood substitutability", 2012): another one of the same vertex
/// never costs more, whatever the neighbours choose. cost(by) + Σ over edges of max over the
/// neighbour's remaining configurations of (table(by, ·) − table(configuration, ·)) ≤
/// cost(configuration).
struct Removal {
  std::uint32_t vertex = 0;
  std::uint32_t configuration = 0;
  std::uint32_t by = 0;  ///< not removed before
};

struct Reduction {
  Kept kept;
  std::vector<Removal> removals;  ///< each is justified given those before it
};

/// Removes dominated configurations until there is none; at least one per vertex stays. Of
/// configurations with equal costs the first one stays. The least cost is preserved; with `memory`,
/// also the least cost under every memory limit, since no configuration is removed for one that
/// needs more memory.
Reduction remove_dominated(const Graph& graph, const Memory* memory = nullptr);

/// The best strategy found and a lower bound of all strategies.
struct Found {
  Cost cost = 0;
  Cost bound = 0;  ///< equal to the cost where the strategy is optimal
  Strategy strategy;
};

/// Depth-first branch and bound. A subproblem whose elimination tables fit in `max_bytes` is solved
/// by bucket elimination; in others one vertex of the largest bucket is fixed to each of its
/// configurations, by lower bound, and dominated configurations are removed again. Subproblems
/// whose lower bound reaches the best cost are pruned.
Found branch_and_bound(const Graph& graph, const EliminationOrder& order, std::uint64_t max_bytes,
                       const Limits& limits);

/// The strategy found, and what a proof of its optimality needs: the removed configurations, and an
/// elimination order of the remaining graph.
struct Solution {
  Found found;
  std::vector<Removal> removals;
  EliminationOrder order;

  bool optimal() const { return found.cost == found.bound; }
};

/// A strategy of least cost, in configuration numbers of `graph`; deterministic. At a limit, the
/// best one found and a lower bound. Tables use at most
/// `max_table_bytes`, and what memory the limits leave.
Solution find_strategy(const Graph& graph, const Limits& limits,
                       std::size_t max_table_bytes = std::size_t{4} << 30U);

/// The best strategy found of those whose memory adds up to at most `limit`, and a lower bound of
/// all of these; empty if there is none.
///
/// Lagrangian relaxation (Fisher, "The Lagrangian relaxation method for solving integer programming
/// problems", 1981) with a multiplier per byte, optimised by bisection, inside best-first branch
/// and bound. A duality gap is closed by elimination with Pareto fronts (below); where these grow
/// too large, the configurations of one vertex are partitioned by memory. Exact, unless a limit is
/// reached. The memory of every vertex is below kCostEnd, and so is their sum.
std::optional<Found> find_fitting(const Graph& graph, const Memory& memory, Cost limit,
                                  const Limits& limits);

/// A Lagrange multiplier: a byte costs `price` / 2^32, rounded down for every number of bytes.
using Price = std::int64_t;
inline Wide worth(Price price, Cost bytes) { return (Wide{price} * bytes) >> 32U; }

/// The Lagrangian relaxation: the graph where memory has a price. Since every vertex and the limit
/// round down, a strategy that fits costs at least its cost here less worth(price, limit).
Graph priced(Graph graph, const Memory& memory, Price price);

/// A strategy of least cost within a memory limit is sought.
struct FittingProblem {
  const Graph* graph = nullptr;
  const Memory* memory = nullptr;
  Cost limit = 0;
};

/// Bucket elimination with Pareto fronts of (cost, memory) instead of least costs (Rollón and
/// Larrosa, "Bucket elimination for multiobjective optimization problems", 2006). A pair is pruned
/// where the lower bounds of the rest at the given prices put it at or above a ceiling. Ceilings
/// start close to the bound and rise until a strategy lies below one, which is then optimal.
///
/// `found`: a strategy that fits, and a bound; both are improved, and meet unless a limit is
/// reached or more than `max_pairs` pairs are made under one ceiling. Unchanged where tables would
/// be too large.
void close_gap(const FittingProblem& problem, const std::vector<Price>& prices,
               std::size_t max_pairs, const Limits& limits, Found& found);

}  // namespace p2::strategy
