#include "engine/strategy/printed_algorithm.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "engine/strategy/sub_strategies.h"

namespace p2::strategy {
namespace {

/// The least of what is compared, and who has it.
template <typename Key>
class Argmin {
 public:
  void add(Key key, std::uint32_t who) {
    if (who_.empty() || key < least_) {
      least_ = key;
      who_.clear();
    }
    if (key == least_) who_.push_back(who);
  }
  std::uint32_t pick(Ties& ties) const {
    return who_.size() == 1 ? who_[0] : who_[ties.pick(who_)];
  }

 private:
  Key least_{};
  Vertices who_;
};

template <typename Sum>
class Algorithm {
 public:
  Algorithm(const Graph& graph, const Reading& reading, Ties& ties, std::size_t most_rows)
      : graph_(graph), reading_(reading), ties_(ties), most_rows_(most_rows) {
    neighbours_.resize(graph.vertices());
    for (const Edge& edge : graph.edges) {
      neighbours_[edge.first].push_back(edge.second);
      neighbours_[edge.second].push_back(edge.first);
    }
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
      std::ranges::sort(neighbours_[v]);
      Vertices scope = neighbours_[v];
      scope.insert(std::ranges::lower_bound(scope, v), v);
      tables_.push_back(all_sub_strategies(graph, std::move(scope)));
    }
  }

  std::optional<Printed> run() {
    Vertices unprocessed(graph_.vertices());
    std::iota(unprocessed.begin(), unprocessed.end(), 0U);
    while (!unprocessed.empty()) {
      Argmin<std::size_t> fewest;
      for (const std::uint32_t v : unprocessed) {
        fewest.add(common(neighbours_[v], unprocessed).size(), v);
      }
      const std::uint32_t vertex = fewest.pick(ties_);
      keep_best(vertex);
      for (const std::uint32_t neighbour : neighbours_[vertex]) restrict_table(neighbour, vertex);
      std::erase(unprocessed, vertex);
    }
    const auto strategies = valid_strategies(tables_, reading_.restarts_when_empty, most_rows_);
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
      const Row ends = part(table, row, {edge.first, edge.second});
      sum += value(edge.table[ends[0] * graph_.configurations(edge.second) + ends[1]]);
    }
    return sum;
  }

  /// Lines 20 to 26: of the rows that differ in the vertex alone one that costs least stays.
  void keep_best(std::uint32_t vertex) {
    SubStrategies& table = tables_[vertex];
    std::map<Row, std::pair<Argmin<Sum>, std::map<std::uint32_t, Row>>> sets;
    for (const Row& row : table.rows) {
      auto& [best, rows] = sets[part(table, row, neighbours_[vertex])];
      const std::uint32_t own = part(table, row, {vertex})[0];
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
    const Vertices shared = common(tables_[of].scope, tables_[vertex].scope);
    std::set<Row> left;
    for (const Row& row : tables_[vertex].rows) left.insert(part(tables_[vertex], row, shared));
    std::erase_if(tables_[of].rows,
                  [&](const Row& row) { return !left.contains(part(tables_[of], row, shared)); });
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
  Ties& ties_;
  std::size_t most_rows_;
  std::vector<Vertices> neighbours_;
  std::vector<SubStrategies> tables_;
};

}  // namespace

bool Printed::complete() const {
  return !strategy.empty() &&
         std::ranges::all_of(strategy, [](const auto& choice) { return choice.has_value(); });
}

std::optional<Printed> printed_algorithm(const Graph& graph, const Reading& reading, Ties& ties,
                                         std::size_t most_rows) {
  if (printed_rows(graph) > most_rows) return std::nullopt;
  if (reading.unit) return Algorithm<double>(graph, reading, ties, most_rows).run();
  return Algorithm<Cost>(graph, reading, ties, most_rows).run();
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
