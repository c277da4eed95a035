#pragma once

#include <optional>
#include <vector>

#include "engine/strategy/strategy.h"
#include "p2/limits.h"

namespace p2::strategy {

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
