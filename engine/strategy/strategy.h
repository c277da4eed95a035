#pragma once

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

}  // namespace p2::strategy
