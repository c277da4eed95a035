#include "engine/strategy/sub_strategies.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace p2::strategy {
namespace {

Row together(const Vertices& scope, const SubStrategies& a, const Row& row_a,
             const SubStrategies& b, const Row& row_b) {
  Row row;
  for (const std::uint32_t v : scope) {
    const bool from_a = std::ranges::binary_search(a.scope, v);
    row.push_back(part(from_a ? a : b, from_a ? row_a : row_b, {v})[0]);
  }
  return row;
}

/// Algorithm 3, lines 8 to 17.
std::optional<SubStrategies> join(const SubStrategies& a, const SubStrategies& b,
                                  std::size_t most_rows) {
  const Vertices shared = common(a.scope, b.scope);
  std::map<Row, std::vector<const Row*>> matching;
  for (const Row& row : b.rows) matching[part(b, row, shared)].push_back(&row);
  SubStrategies both;
  std::ranges::set_union(a.scope, b.scope, std::back_inserter(both.scope));
  for (const Row& row : a.rows) {
    for (const Row* other : matching[part(a, row, shared)]) {
      if (both.rows.size() == most_rows) return std::nullopt;
      both.rows.push_back(together(both.scope, a, row, b, *other));
    }
  }
  return both;
}

}  // namespace

Vertices common(const Vertices& a, const Vertices& b) {
  Vertices both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

Row part(const SubStrategies& table, const Row& row, const Vertices& of) {
  Row chosen;
  for (const std::uint32_t v : of) {
    const auto at = std::ranges::lower_bound(table.scope, v) - table.scope.begin();
    chosen.push_back(row[static_cast<std::size_t>(at)]);
  }
  return chosen;
}

SubStrategies all_sub_strategies(const Graph& graph, Vertices scope) {
  SubStrategies table{std::move(scope), {{}}};
  for (const std::uint32_t v : table.scope) {
    std::vector<Row> longer;
    for (const Row& row : table.rows) {
      for (std::uint32_t c = 0; c < graph.configurations(v); ++c) {
        longer.push_back(row);
        longer.back().push_back(c);
      }
    }
    table.rows = std::move(longer);
  }
  return table;
}

std::optional<SubStrategies> valid_strategies(const std::vector<SubStrategies>& tables,
                                              bool restarts, std::size_t most_rows) {
  std::optional<SubStrategies> joined;
  for (const SubStrategies& table : tables) {
    if (!joined || (restarts && joined->rows.empty())) {
      joined = table;
      continue;
    }
    joined = join(*joined, table, most_rows);
    if (!joined) return std::nullopt;
  }
  return joined;
}

}  // namespace p2::strategy
