#pragma once

#include "engine/strategy/elimination.h"

namespace p2::strategy {

/// The best strategy found, and what no strategy undercuts.
struct Found {
  Cost cost = 0;
  Cost bound = 0;  ///< equal to the cost: the strategy is optimal
  Strategy strategy;
};

/// Eliminates where the tables of `order` need at most `most_bytes`. Elsewhere fixes one vertex of
/// the largest table to each of its configurations in turn, the most promising first, leaves out
/// what that makes dominated, and starts over; cases that cannot beat the best strategy so far are
/// skipped. Ends at the deadline of `limits`.
Found branch_and_bound(const Graph& graph, const EliminationOrder& order, std::uint64_t most_bytes,
                       const Limits& limits);

}  // namespace p2::strategy
