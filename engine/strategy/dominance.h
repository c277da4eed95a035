#pragma once

#include "engine/strategy/graph.h"

namespace p2::strategy {

/// Why a configuration may be left out: another one of the same vertex never costs more, whatever
/// the neighbours do. cost(by) + Σ over edges of max over the neighbour's configurations that are
/// left of (table(by, ·) − table(configuration, ·)) ≤ cost(configuration).
struct Removal {
  std::uint32_t vertex = 0;
  std::uint32_t configuration = 0;
  std::uint32_t by = 0;  ///< not left out before
};

struct Reduction {
  Kept kept;
  std::vector<Removal> removals;  ///< each holds of what those before it leave
};

/// Leaves out dominated configurations until there are none; at least one per vertex stays. Of
/// configurations that cost the same everywhere the first stays. The least cost stays the same.
/// With `memory`, by vertex and configuration, one that needs less is left out for none that needs
/// more: the least cost stays the same under every limit.
Reduction remove_dominated(const Graph& graph,
                           const std::vector<std::vector<Cost>>* memory = nullptr);

}  // namespace p2::strategy
