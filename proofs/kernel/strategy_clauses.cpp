#include <algorithm>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/strategy_graph.h"

namespace p2::kernel {
namespace {

/// Hands out the clauses of docs/certificates.md, of which every strategy that costs less is a
/// model, however terms are added up, none twice, and whatever sums are told apart.
struct CheaperStrategy {
  const StrategyGraph& graph;
  const std::vector<Numbers>& additions;
  const std::vector<Costs>& sums;  // by addition
  Budget& budget;
  const std::function<void(const Clause&)>& add;
  std::int32_t variables = 1;        // 1 is true
  std::vector<Clause> chosen = {};   // by vertex and configuration
  std::vector<Clause> reached = {};  // by addition and sum

  void encode() {
    add({1});
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
      Clause& own = chosen.emplace_back();
      while (own.size() < graph.left(v)) own.push_back(++variables);
      add(own);
    }
    for (const Numbers& parts : additions) add_sum(parts);
  }

  void add_sum(const Numbers& parts) {
    const std::size_t n = reached.size();
    Clause& now = reached.emplace_back();
    for (std::size_t j = 0; j < sums[n].size(); ++j) {
      now.push_back(n + 1 < sums.size() ? ++variables : -1);
      if (j > 0) add({-now[j], now[j - 1]});
    }
    const std::size_t terms = graph.vertices() + graph.edges();
    if (parts.back() < terms) return add_term(parts, graph.term(parts.back()));
    const std::size_t part = parts.back() - terms;
    add_case(parts, 0, {});
    for (std::size_t j = 0; j < sums[part].size(); ++j) {
      add_case(parts, sums[part][j], {-reached[part][j]});
    }
  }

  void add_term(const Numbers& parts, const CostTable& table) {
    const Clause& fast = chosen[table.scope.back()];
    for (std::size_t at = 0; at < table.cells.size(); ++at) {
      Clause choice;
      if (table.scope.size() > 1) choice.push_back(-chosen[table.scope[0]][at / fast.size()]);
      choice.push_back(-fast[at % fast.size()]);
      add_case(parts, table.cells[at], choice);
    }
  }

  /// The last part is at least `part` unless a literal of `unless` holds.
  void add_case(const Numbers& parts, Cost part, const Clause& unless) {
    const bool alone = parts.size() == 1;
    const std::size_t first = alone ? 0 : parts[0] - graph.vertices() - graph.edges();
    const std::size_t before = alone ? 0 : sums[first].size();
    const Costs& after = sums[reached.size() - 1];
    budget.spend(before + after.size() + 1);
    std::size_t made = 0;
    for (std::size_t k = 0; k <= before; ++k) {
      const Cost sum = k == 0 ? part : sums[first][k - 1] + part;
      const std::size_t known = made;
      while (made < after.size() && after[made] <= sum) ++made;
      if (made == known) continue;
      Clause clause = unless;
      if (k > 0) clause.insert(clause.begin(), -reached[first][k - 1]);
      clause.push_back(reached.back()[made - 1]);
      add(clause);
    }
  }
};

/// Each of one or two parts, the first of two a sum. Parts are terms and earlier sums, none twice.
std::vector<Numbers> read_additions(const List& list, std::size_t terms) {
  std::vector<Numbers> additions;
  std::vector<bool> used(terms + list.size());
  for (const Json& item : list) {
    const Numbers parts = as_numbers(item, terms + additions.size());
    if (parts.empty() || parts.size() > 2 || (parts.size() == 2 && parts[0] < terms)) {
      malformed("an addition is not [part] or [sum, part]");
    }
    for (const std::uint32_t part : parts) {
      if (used[part]) reject("part " + std::to_string(part) + " is added twice");
      used[part] = true;
    }
    additions.push_back(parts);
  }
  return additions;
}

}  // namespace

void refute_cheaper(const StrategyGraph& graph, Cost cost, const Files& files, Budget& budget) {
  const Json root = parse_json(files, "sums.json");
  expect_keys(root, {"additions", "sums"});
  const auto additions =
      read_additions(as_list(root["additions"]), graph.vertices() + graph.edges());
  std::vector<Costs> sums;
  for (const Json& item : as_list(root["sums"])) {
    sums.push_back(as_costs(item, budget));
    if (!std::ranges::is_sorted(sums.back(), std::less_equal<>())) malformed("sums do not ascend");
  }
  if (sums.empty() || sums.size() != additions.size()) malformed("sums are not one list each");
  if (sums.back() != Costs{cost}) reject("the last sum is not what the strategy costs");
  const auto encode = [&](const std::function<void(const Clause&)>& sink) {
    CheaperStrategy cheaper{graph, additions, sums, budget, sink};
    cheaper.encode();
    return cheaper.variables;
  };
  check_refutation(files, encode, budget);
}

}  // namespace p2::kernel
