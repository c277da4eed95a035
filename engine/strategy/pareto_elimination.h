#pragma once

#include <optional>

#include "p2/limits.h"
#include "engine/strategy/memory_price.h"

namespace p2::strategy {

/// The cheapest strategy among those that fit a memory limit, and what none of them undercuts.
struct FittingProblem {
  const Graph* graph = nullptr;
  const Memory* memory = nullptr;
  Cost limit = 0;
};

/// Eliminates vertices with all pairs of cost and memory that are worth keeping, instead of the
/// least cost alone: those that no other one undercuts in both, and that may still become cheaper
/// than a ceiling. Whether they may, the rests at some prices of memory say. Ceilings start close
/// to the bound and rise until there is a strategy below one, which is the best then; so little
/// more is looked at than lies in between. Equal layers make equal pairs, which are one.
///
/// `found`: a strategy that fits, and a bound; both come back improved, and equal where it ended in
/// time and memory, and within `effort`, the pairs that are made under one ceiling. Leaves them
/// alone where tables would be too large.
void close_gap(const FittingProblem& problem, const std::vector<Price>& prices, std::size_t effort,
               const Limits& limits, Found& found);

}  // namespace p2::strategy
