#pragma once

#include <optional>

#include "p2/limits.h"
#include "engine/strategy/elimination_order.h"

namespace p2::strategy {

/// A strategy of least cost.
struct Optimum {
  Cost cost = 0;
  Strategy strategy;
};

/// Minimises the vertices out in the given order, each by a table of what the rest costs at best
/// for every choice of its neighbours, and reads the strategy off backwards: among equals the
/// lowest configuration. Holds `order.cells` costs at once. Nothing where the deadline comes first.
std::optional<Optimum> eliminate(const Graph& graph, const EliminationOrder& order,
                                 const Limits& limits);

}  // namespace p2::strategy
