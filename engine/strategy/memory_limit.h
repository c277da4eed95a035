#pragma once

#include <optional>
#include <vector>

#include "p2/limits.h"
#include "engine/strategy/memory_price.h"

namespace p2::strategy {

/// The best strategy found of those whose memory adds up to at most `limit`, and what none of them
/// undercuts; nothing where there is none. Lower bounds are those of Lagrange: memory costs
/// something per byte, and what the limit is worth at that price is given back; where the cheapest
/// strategy at the best price leaves a gap, it is closed by pairs of cost and memory
/// (pareto_elimination.h); where these are too many, the configurations of one vertex are parted by
/// their memory. Exact; ends at the deadline of `limits`. The memory of every vertex is below
/// kCostEnd, and so is their sum.
std::optional<Found> find_fitting(const Graph& graph, const Memory& memory, Cost limit,
                                  const Limits& limits);

}  // namespace p2::strategy
