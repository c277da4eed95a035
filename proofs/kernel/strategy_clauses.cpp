#include <algorithm>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/strategy_graph.h"

namespace p2::kernel {
namespace {

/// Hands out the clauses of docs/certificates.md, of which every strategy that costs less is a
/// model, whatever sums are told apart.
struct CheaperStrategy {
  const StrategyGraph& graph;
  const Numbers& order;
  const std::vector<Costs>& sums;  // by term
  Budget& budget;
  const std::function<void(const Clause&)>& add;
  std::int32_t variables = 1;       // 1 is true
  std::vector<Clause> chosen = {};  // by vertex and configuration
  std::size_t term = 0;
  Clause reached = {};  // by number of the sum after the term before

  void encode() {
    add({1});
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
      Clause& own = chosen.emplace_back();
      while (own.size() < graph.left(v)) own.push_back(++variables);
      add(own);
    }
    Numbers position(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
    std::vector<std::vector<std::size_t>> edges(order.size());  // by their later end
    for (std::size_t e = 0; e < graph.edges(); ++e) {
      edges[graph.later_end(e, position)].push_back(e);
    }
    for (const std::uint32_t v : order) {
      add_term({{v}, graph.costs_left(v)});
      for (const std::size_t e : edges[v]) add_term(graph.table_left(e, position));
    }
  }

  void add_term(const CostTable& table) {
    Clause now;
    for (std::size_t j = 0; j < sums[term].size(); ++j) {
      now.push_back(term + 1 < sums.size() ? ++variables : -1);
      if (j > 0) add({-now[j], now[j - 1]});
    }
    const Clause& fast = chosen[table.scope.back()];
    for (std::size_t at = 0; at < table.cells.size(); ++at) {
      Clause choice;
      if (table.scope.size() > 1) choice.push_back(-chosen[table.scope[0]][at / fast.size()]);
      choice.push_back(-fast[at % fast.size()]);
      add_cell(table.cells[at], choice, now);
    }
    reached = std::move(now);
    ++term;
  }

  void add_cell(Cost cell, const Clause& choice, const Clause& now) {
    const Costs& after = sums[term];
    budget.spend(reached.size() + after.size() + 1);
    std::size_t made = 0;
    for (std::size_t k = 0; k <= reached.size(); ++k) {
      const Cost sum = k == 0 ? cell : sums[term - 1][k - 1] + cell;
      const std::size_t known = made;
      while (made < after.size() && after[made] <= sum) ++made;
      if (made == known) continue;
      Clause clause = choice;
      if (k > 0) clause.insert(clause.begin(), -reached[k - 1]);
      clause.push_back(now[made - 1]);
      add(clause);
    }
  }
};

}  // namespace

void refute_cheaper(const StrategyGraph& graph, Cost cost, const Files& files, Budget& budget) {
  const Json root = parse_json(files, "sums.json");
  expect_keys(root, {"order", "sums"});
  const Numbers order = as_order(root["order"], graph.vertices());
  std::vector<Costs> sums;
  for (const Json& item : as_list(root["sums"])) {
    sums.push_back(as_costs(item, budget));
    if (!std::ranges::is_sorted(sums.back(), std::less_equal<>())) malformed("sums do not ascend");
  }
  sums.push_back({cost});
  if (sums.size() != graph.vertices() + graph.edges()) malformed("sums are not one list per term");
  const auto encode = [&](const std::function<void(const Clause&)>& sink) {
    CheaperStrategy cheaper{graph, order, sums, budget, sink};
    cheaper.encode();
    return cheaper.variables;
  };
  check_refutation(files, encode, budget);
}

}  // namespace p2::kernel
