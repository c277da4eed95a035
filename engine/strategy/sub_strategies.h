#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/strategy/graph.h"

namespace p2::strategy {

using Row = std::vector<std::uint32_t>;
using Vertices = std::vector<std::uint32_t>;  ///< ascending

/// The paper's `v.tbl`: sub-strategies, each a configuration of every vertex of the scope.
struct SubStrategies {
  Vertices scope;
  std::vector<Row> rows;
};

Vertices common(const Vertices& a, const Vertices& b);

/// The configurations of some vertices of the scope. Algorithm 2, ISVALID, says of two
/// sub-strategies whether these are equal.
Row part(const SubStrategies& table, const Row& row, const Vertices& of);

/// Algorithm 1, line 13: every choice of configurations.
SubStrategies all_sub_strategies(const Graph& graph, Vertices scope);

/// Algorithm 3: the tables joined one after the other. `restarts`: where nothing is left, the next
/// table starts over. Nothing where there would be more than `most_rows` rows.
std::optional<SubStrategies> valid_strategies(const std::vector<SubStrategies>& tables,
                                              bool restarts, std::size_t most_rows);

}  // namespace p2::strategy
