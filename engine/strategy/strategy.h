#pragma once

#include "engine/strategy/branch_and_bound.h"
#include "engine/strategy/dominance.h"

namespace p2::strategy {

/// The strategy found, and what somebody else needs to see that none costs less: the configurations
/// that need not be looked at, and an order in which to eliminate the vertices of what is left.
struct Answer {
  Found found;
  std::vector<Removal> removals;
  EliminationOrder order;

  bool optimal() const { return found.cost == found.bound; }
};

/// A strategy of least cost, in configuration numbers of `graph`; the same one in every run. Where
/// the deadline is met first, the best one found and a bound. The tables take at most the memory of
/// `limits`, or 4 GiB.
Answer find_strategy(const Graph& graph, const Limits& limits);

}  // namespace p2::strategy
