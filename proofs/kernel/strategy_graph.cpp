#include "proofs/kernel/strategy_graph.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace p2::kernel {

constexpr std::uint64_t kMostVertices = std::uint64_t{1} << 20U;

Costs as_costs(const Json& value, Budget& budget) {
  Costs costs;
  for (const Json& item : as_list(value)) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() >= kCostEnd) {
      malformed("a cost is not a number below 2^62");
    }
    costs.push_back(item.get<Cost>());
  }
  budget.spend(costs.size() + 1);
  if (costs.empty()) malformed("a list of costs is empty");
  return costs;
}

StrategyGraph::StrategyGraph(const Json& root, Budget& budget) : budget_(budget) {
  expect_keys(root, {"vertices", "tables", "edges"});
  for (const Json& item : as_list(root["vertices"])) costs_.push_back(as_costs(item, budget));
  if (costs_.empty() || costs_.size() > kMostVertices) malformed("vertices are none or too many");
  for (const Json& item : as_list(root["tables"])) read_table(item);
  for (const Json& item : as_list(root["edges"])) read_edge(item);
  check_sum();
  for (const Costs& costs : costs_) {
    kept_.emplace_back(costs.size());
    std::iota(kept_.back().begin(), kept_.back().end(), 0U);
  }
  edges_of_.resize(costs_.size());
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    edges_of_[edges_[e].first].push_back(e);
    edges_of_[edges_[e].second].push_back(e);
  }
}

Cost StrategyGraph::cost_of(const Numbers& strategy) const {
  if (strategy.size() != vertices()) reject("the strategy has not one configuration per vertex");
  Cost sum = 0;
  for (std::size_t v = 0; v < vertices(); ++v) {
    if (strategy[v] >= costs_[v].size()) reject("the strategy has a configuration too high");
    sum += costs_[v][strategy[v]];
  }
  for (const Edge& edge : edges_) {
    sum += cell(edge, edge.first, strategy[edge.first], strategy[edge.second]);
  }
  return sum;
}

void StrategyGraph::leave_out(const Numbers& removal) {
  const std::string which = "removal " + std::to_string(++removals_) + ": ";
  if (removal.size() != 3 || removal[0] >= vertices()) malformed(which + "it names no vertex");
  const auto [vertex, out, by] = std::tuple(removal[0], removal[1], removal[2]);
  Numbers& kept = kept_[vertex];
  budget_.spend(kept.size());
  const auto found = std::ranges::find(kept, out);
  if (out == by || found == kept.end() || std::ranges::find(kept, by) == kept.end()) {
    reject(which + "the two are no configurations that are left");
  }
  Cost worst = costs_[vertex][by] - costs_[vertex][out];
  for (const std::size_t e : edges_of_[vertex]) {
    const Edge& edge = edges_[e];
    const Numbers& others = kept_[edge.first == vertex ? edge.second : edge.first];
    budget_.spend(others.size());
    Cost most = -static_cast<Cost>(kCostEnd);
    for (const std::uint32_t other : others) {
      most = std::max(most, cell(edge, vertex, by, other) - cell(edge, vertex, out, other));
    }
    worst += most;
  }
  if (worst > 0) reject(which + "the configuration may cost less than the other");
  kept.erase(found);
}

CostTable StrategyGraph::term(std::size_t number) const {
  if (number < vertices()) return {{static_cast<std::uint32_t>(number)}, costs_[number]};
  const Edge& edge = edges_[number - vertices()];
  return {{edge.first, edge.second}, tables_[edge.table].cells};
}

Costs StrategyGraph::costs_left(std::uint32_t vertex) const {
  Costs costs;
  for (const std::uint32_t c : kept_[vertex]) costs.push_back(costs_[vertex][c]);
  return costs;
}

CostTable StrategyGraph::table_left(std::size_t edge_number, const Numbers& position) const {
  const Edge& edge = edges_[edge_number];
  const bool in_order = position[edge.first] < position[edge.second];
  CostTable table{{in_order ? edge.first : edge.second, in_order ? edge.second : edge.first}, {}};
  for (const std::uint32_t slow : kept_[table.scope[0]]) {
    for (const std::uint32_t fast : kept_[table.scope[1]]) {
      table.cells.push_back(cell(edge, table.scope[0], slow, fast));
    }
  }
  return table;
}

void StrategyGraph::read_table(const Json& value) {
  Rows table;
  for (const Json& item : as_list(value)) {
    const Costs row = as_costs(item, budget_);
    if (!table.cells.empty() && row.size() != table.columns) malformed("a table has no shape");
    table.columns = row.size();
    table.cells.insert(table.cells.end(), row.begin(), row.end());
  }
  if (table.cells.empty()) malformed("a table is empty");
  tables_.push_back(std::move(table));
}

void StrategyGraph::read_edge(const Json& value) {
  const Numbers numbers = as_numbers(value, std::max(vertices(), tables_.size()));
  if (numbers.size() != 3) malformed("an edge is not [vertex, vertex, table]");
  const Edge edge{numbers[0], numbers[1], numbers[2]};
  if (edge.first >= edge.second || edge.second >= vertices() || edge.table >= tables_.size()) {
    malformed("an edge does not join two vertices, the lower first, by a table");
  }
  if (!edges_.empty() &&
      std::pair(edges_.back().first, edges_.back().second) >= std::pair(edge.first, edge.second)) {
    malformed("edges are not in order");
  }
  const Rows& table = tables_[edge.table];
  if (table.columns != costs_[edge.second].size() ||
      table.cells.size() != costs_[edge.first].size() * table.columns) {
    malformed("a table does not fit its edge");
  }
  edges_.push_back(edge);
}

void StrategyGraph::check_sum() {
  std::uint64_t sum = 0;
  const auto add = [&](const Costs& costs) {
    budget_.spend(costs.size());
    sum += static_cast<std::uint64_t>(std::ranges::max(costs));
    if (sum >= kCostEnd) malformed("the largest costs add up to 2^62 or more");
  };
  for (const Costs& costs : costs_) add(costs);
  for (const Edge& edge : edges_) add(tables_[edge.table].cells);
}

Cost StrategyGraph::cell(const Edge& edge, std::uint32_t vertex, std::size_t own,
                         std::size_t other) const {
  const Rows& table = tables_[edge.table];
  return table
      .cells[edge.first == vertex ? own * table.columns + other : other * table.columns + own];
}

}  // namespace p2::kernel
