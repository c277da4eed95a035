#include <algorithm>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/strategy_graph.h"

namespace p2::kernel {
namespace {

/// Minimises out one vertex after the other. `position`: when each vertex is.
class Elimination {
 public:
  Elimination(const StrategyGraph& graph, const Numbers& order, Budget& budget)
      : graph_(graph), budget_(budget), position_(order.size()), tables_(order.size()) {
    for (std::uint32_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
    for (const std::uint32_t v : order) keep({{v}, graph.costs_left(v)});
    for (std::size_t e = 0; e < graph.edges(); ++e) keep(graph.table_left(e, position_));
    for (const std::uint32_t v : order) {
      if (graph.left(v) > 1) keep(minimised(v));
    }
  }

  Cost minimum() const { return minimum_; }

 private:
  /// A vertex with one configuration left is none that a table depends on.
  void keep(CostTable table) {
    budget_.spend(table.cells.size() + 1);
    std::erase_if(table.scope, [&](std::uint32_t v) { return graph_.left(v) == 1; });
    if (table.scope.empty()) {
      minimum_ += table.cells[0];
    } else {
      tables_[position_[table.scope[0]]].push_back(std::move(table));
    }
  }

  /// How far `table` moves with the configuration of `vertex`.
  std::size_t stride(const CostTable& table, std::uint32_t vertex) const {
    std::size_t product = 1;
    for (std::size_t i = table.scope.size(); i-- > 0;) {
      if (table.scope[i] == vertex) return product;
      product *= graph_.left(table.scope[i]);
    }
    return 0;
  }

  CostTable minimised(std::uint32_t vertex) {
    const std::vector<CostTable> tables = std::move(tables_[position_[vertex]]);
    CostTable made;
    for (const CostTable& table : tables) {
      made.scope.insert(made.scope.end(), table.scope.begin() + 1, table.scope.end());
    }
    budget_.spend(made.scope.size());
    std::ranges::sort(made.scope, {}, [&](std::uint32_t v) { return position_[v]; });
    made.scope.erase(std::ranges::unique(made.scope).begin(), made.scope.end());
    std::uint64_t cells = 1;
    for (const std::uint32_t v : made.scope) {
      cells *= graph_.left(v);
      budget_.spend(cells);  // so the product stays small
    }
    budget_.spend(cells * graph_.left(vertex));
    budget_.spend(cells * graph_.left(vertex) * tables.size());
    made.cells.assign(cells, static_cast<Cost>(kCostEnd));
    fill(made, vertex, tables);
    return made;
  }

  /// Every cell: the least sum of `tables` over the configurations of `vertex`.
  void fill(CostTable& made, std::uint32_t vertex, const std::vector<CostTable>& tables) const {
    std::vector<std::vector<std::size_t>> strides(tables.size());
    for (std::size_t t = 0; t < tables.size(); ++t) {
      for (const std::uint32_t v : made.scope) strides[t].push_back(stride(tables[t], v));
    }
    Numbers choice(made.scope.size(), 0);
    for (Cost& cell : made.cells) {
      Costs sums(graph_.left(vertex), 0);
      for (std::size_t t = 0; t < tables.size(); ++t) {
        std::size_t at = 0;
        for (std::size_t i = 0; i < choice.size(); ++i) at += choice[i] * strides[t][i];
        const std::size_t step = stride(tables[t], vertex);
        for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += tables[t].cells[at + c * step];
      }
      cell = std::ranges::min(sums);
      for (std::size_t i = choice.size(); i-- > 0 && ++choice[i] == graph_.left(made.scope[i]);) {
        choice[i] = 0;
      }
    }
  }

  const StrategyGraph& graph_;
  Budget& budget_;
  Numbers position_;
  std::vector<std::vector<CostTable>> tables_;  // by position of the first vertex in the scope
  Cost minimum_ = 0;
};

}  // namespace

std::string judge_strategy(const std::string&, const Files& files) {
  Budget budget;
  StrategyGraph graph(parse_json(files, "problem.json"), budget);
  const Json strategy = parse_json(files, "strategy.json");
  expect_keys(strategy, {"configurations", "cost"});
  const Cost cost = as_costs(Json::array({strategy["cost"]}), budget)[0];
  if (graph.cost_of(as_numbers(strategy["configurations"], std::uint64_t{1} << 32U)) != cost) {
    reject("the strategy costs something else");
  }
  if (files.contains("bound.json")) {
    const Json bound = parse_json(files, "bound.json");
    expect_keys(bound, {"removals", "order"});
    for (const Json& item : as_list(bound["removals"])) {
      graph.leave_out(as_numbers(item, std::uint64_t{1} << 32U));
    }
    const Numbers order = as_numbers(bound["order"], graph.vertices());
    Numbers sorted = order;
    std::ranges::sort(sorted);
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
      if (sorted.size() != graph.vertices() || sorted[v] != v)
        malformed("order has not every vertex once");
    }
    const Cost least = Elimination(graph, order, budget).minimum();
    if (least != cost) reject("a strategy costs " + std::to_string(least));
  } else {
    refute_cheaper(graph, cost, files, budget);
  }
  return "no strategy costs less than " + std::to_string(cost) + " (" +
         std::to_string(graph.vertices()) + " vertices, " + std::to_string(graph.edges()) +
         " edges)";
}

}  // namespace p2::kernel
