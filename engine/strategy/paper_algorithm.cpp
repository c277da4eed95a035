#include "engine/strategy/paper_algorithm.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/invariant.h"
#include "engine/strategy/graph.h"

namespace p2::strategy {

using Row = std::vector<std::uint32_t>;
using VertexSet = std::vector<std::uint32_t>;  ///< ascending

/// The paper's `v.tbl`: sub-strategies, each a configuration of every vertex of the scope.
struct SubStrategies {
  VertexSet scope;
  std::vector<Row> rows;
};

VertexSet intersection(const VertexSet& a, const VertexSet& b);

/// The projection of a row to some vertices of the scope. Algorithm 2, ISVALID, compares two of
/// these.
Row project(const SubStrategies& table, const Row& row, const VertexSet& of);

/// Algorithm 1, line 13: all assignments to the scope.
SubStrategies enumerate_assignments(const Graph& graph, VertexSet scope);

/// Algorithm 3: the natural join of the tables in order. `restarts`: the next table replaces an
/// empty join. Empty if there would be more than `max_rows` rows.
std::optional<SubStrategies> join_tables(const std::vector<SubStrategies>& tables, bool restarts,
                                         std::size_t max_rows);

namespace {

Row merge_rows(const VertexSet& scope, const SubStrategies& a, const Row& row_a,
               const SubStrategies& b, const Row& row_b) {
  Row row;
  for (const std::uint32_t v : scope) {
    const bool from_a = std::ranges::binary_search(a.scope, v);
    row.push_back(project(from_a ? a : b, from_a ? row_a : row_b, {v})[0]);
  }
  return row;
}

/// Algorithm 3, lines 8 to 17.
std::optional<SubStrategies> join(const SubStrategies& a, const SubStrategies& b,
                                  std::size_t max_rows) {
  const VertexSet shared = intersection(a.scope, b.scope);
  std::map<Row, std::vector<const Row*>> matching;
  for (const Row& row : b.rows) matching[project(b, row, shared)].push_back(&row);
  SubStrategies both;
  std::ranges::set_union(a.scope, b.scope, std::back_inserter(both.scope));
  for (const Row& row : a.rows) {
    for (const Row* other : matching[project(a, row, shared)]) {
      if (both.rows.size() == max_rows) return std::nullopt;
      both.rows.push_back(merge_rows(both.scope, a, row, b, *other));
    }
  }
  return both;
}

}  // namespace

VertexSet intersection(const VertexSet& a, const VertexSet& b) {
  VertexSet both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

Row project(const SubStrategies& table, const Row& row, const VertexSet& of) {
  Row chosen;
  for (const std::uint32_t v : of) {
    const auto at = std::ranges::lower_bound(table.scope, v) - table.scope.begin();
    chosen.push_back(row[static_cast<std::size_t>(at)]);
  }
  return chosen;
}

SubStrategies enumerate_assignments(const Graph& graph, VertexSet scope) {
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

std::optional<SubStrategies> join_tables(const std::vector<SubStrategies>& tables, bool restarts,
                                         std::size_t max_rows) {
  std::optional<SubStrategies> joined;
  for (const SubStrategies& table : tables) {
    if (!joined || (restarts && joined->rows.empty())) {
      joined = table;
      continue;
    }
    joined = join(*joined, table, max_rows);
    if (!joined) return std::nullopt;
  }
  return joined;
}

std::size_t FirstTie::pick(const std::vector<std::uint32_t>& /*tied*/) { return 0; }

std::size_t LastTie::pick(const std::vector<std::uint32_t>& tied) { return tied.size() - 1; }

std::size_t RandomTie::pick(const std::vector<std::uint32_t>& tied) {
  return random_() % tied.size();
}

std::size_t EveryTie::pick(const std::vector<std::uint32_t>& tied) {
  if (made_ == picks_.size()) picks_.push_back({0, tied.size()});
  invariant(picks_[made_].count == tied.size(), "the same picks lead to the same ties");
  return picks_[made_++].taken;
}

bool EveryTie::next() {
  while (!picks_.empty() && picks_.back().taken + 1 == picks_.back().count) picks_.pop_back();
  made_ = 0;
  if (picks_.empty()) return false;
  ++picks_.back().taken;
  return true;
}

namespace {

/// The candidates with the least key.
template <typename Key>
class Argmin {
 public:
  void add(Key key, std::uint32_t candidate) {
    if (tied_.empty() || key < least_) {
      least_ = key;
      tied_.clear();
    }
    if (key == least_) tied_.push_back(candidate);
  }
  std::uint32_t pick(TieBreaker& ties) const {
    return tied_.size() == 1 ? tied_[0] : tied_[ties.pick(tied_)];
  }

 private:
  Key least_{};
  VertexSet tied_;
};

template <typename Sum>
class Algorithm {
 public:
  Algorithm(const Graph& graph, const Reading& reading, TieBreaker& ties, std::size_t max_rows)
      : graph_(graph), reading_(reading), ties_(ties), max_rows_(max_rows) {
    neighbours_.resize(graph.vertices());
    for (const Edge& edge : graph.edges) {
      neighbours_[edge.first].push_back(edge.second);
      neighbours_[edge.second].push_back(edge.first);
    }
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
      std::ranges::sort(neighbours_[v]);
      VertexSet scope = neighbours_[v];
      scope.insert(std::ranges::lower_bound(scope, v), v);
      tables_.push_back(enumerate_assignments(graph, std::move(scope)));
    }
  }

  std::optional<Printed> run() {
    VertexSet unprocessed(graph_.vertices());
    std::iota(unprocessed.begin(), unprocessed.end(), 0U);
    while (!unprocessed.empty()) {
      Argmin<std::size_t> fewest;
      for (const std::uint32_t v : unprocessed) {
        fewest.add(intersection(neighbours_[v], unprocessed).size(), v);
      }
      const std::uint32_t vertex = fewest.pick(ties_);
      keep_best(vertex);
      for (const std::uint32_t neighbour : neighbours_[vertex]) restrict_table(neighbour, vertex);
      std::erase(unprocessed, vertex);
    }
    const auto strategies = join_tables(tables_, reading_.restarts_when_empty, max_rows_);
    if (!strategies) return std::nullopt;
    return cheapest(*strategies);
  }

 private:
  Sum value(Cost cost) const {
    if constexpr (std::is_same_v<Sum, double>) {
      return static_cast<double>(cost) / *reading_.unit;
    } else {
      return cost;
    }
  }

  /// COST: of the subgraph that the scope induces.
  Sum cost(const SubStrategies& table, const Row& row) const {
    Sum sum{};
    for (std::size_t i = 0; i < row.size(); ++i) {
      sum += value(graph_.costs[table.scope[i]][row[i]]);
    }
    for (const Edge& edge : graph_.edges) {
      if (!std::ranges::binary_search(table.scope, edge.first) ||
          !std::ranges::binary_search(table.scope, edge.second)) {
        continue;
      }
      const Row ends = project(table, row, {edge.first, edge.second});
      sum += value(edge.table[ends[0] * graph_.configurations(edge.second) + ends[1]]);
    }
    return sum;
  }

  /// Lines 20 to 26: of the rows that differ only in the vertex, keeps one of least cost.
  void keep_best(std::uint32_t vertex) {
    SubStrategies& table = tables_[vertex];
    std::map<Row, std::pair<Argmin<Sum>, std::map<std::uint32_t, Row>>> sets;
    for (const Row& row : table.rows) {
      auto& [best, rows] = sets[project(table, row, neighbours_[vertex])];
      const std::uint32_t own = project(table, row, {vertex})[0];
      best.add(cost(table, row), own);
      rows[own] = row;
    }
    table.rows.clear();
    for (const auto& [neighbours, set] : sets) {
      table.rows.push_back(set.second.at(set.first.pick(ties_)));
    }
  }

  /// Lines 29 and 30.
  void restrict_table(std::uint32_t of, std::uint32_t vertex) {
    const VertexSet shared = intersection(tables_[of].scope, tables_[vertex].scope);
    std::set<Row> left;
    for (const Row& row : tables_[vertex].rows) left.insert(project(tables_[vertex], row, shared));
    std::erase_if(tables_[of].rows, [&](const Row& row) {
      return !left.contains(project(tables_[of], row, shared));
    });
  }

  /// Line 37.
  Printed cheapest(const SubStrategies& strategies) const {
    Printed result;
    if (strategies.rows.empty()) return result;
    result.strategy.resize(graph_.vertices());
    const auto best = std::ranges::min_element(
        strategies.rows, {}, [&](const Row& row) { return cost(strategies, row); });
    for (std::size_t i = 0; i < best->size(); ++i) {
      result.strategy[strategies.scope[i]] = (*best)[i];
    }
    return result;
  }

  const Graph& graph_;
  const Reading& reading_;
  TieBreaker& ties_;
  std::size_t max_rows_;
  std::vector<VertexSet> neighbours_;
  std::vector<SubStrategies> tables_;
};

}  // namespace

bool Printed::complete() const {
  return !strategy.empty() &&
         std::ranges::all_of(strategy, [](const auto& choice) { return choice.has_value(); });
}

std::optional<Printed> printed_algorithm(const Graph& graph, const Reading& reading,
                                         TieBreaker& ties, std::size_t max_rows) {
  if (printed_rows(graph) > max_rows) return std::nullopt;
  if (reading.unit) return Algorithm<double>(graph, reading, ties, max_rows).run();
  return Algorithm<Cost>(graph, reading, ties, max_rows).run();
}

std::uint64_t printed_rows(const Graph& graph) {
  std::vector<std::uint64_t> rows;
  for (const auto& costs : graph.costs) rows.push_back(costs.size());
  const auto multiply = [](std::uint64_t& product, std::uint64_t factor) {
    product = product > UINT64_MAX / factor ? UINT64_MAX : product * factor;
  };
  for (const Edge& edge : graph.edges) {
    multiply(rows[edge.first], graph.configurations(edge.second));
    multiply(rows[edge.second], graph.configurations(edge.first));
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t count : rows) sum = sum > UINT64_MAX - count ? UINT64_MAX : sum + count;
  return sum;
}

}  // namespace p2::strategy
