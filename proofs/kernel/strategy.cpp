#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/input.h"

namespace p2::kernel {

using Cost = std::int64_t;
using Costs = std::vector<Cost>;

constexpr std::uint64_t kCostEnd = std::uint64_t{1} << 62U;

/// A function of the configurations of some vertices; that of the last varies fastest.
struct CostTable {
  Numbers scope;
  Costs cells;
};

/// A list of costs, each below kCostEnd, and not empty.
Costs as_costs(const Json& value, Budget& budget);

/// The graph of a strategy certificate, and which configurations of it are left.
class StrategyGraph {
 public:
  /// Reads problem.json.
  StrategyGraph(const Json& root, Budget& budget);

  std::size_t vertices() const { return costs_.size(); }
  std::size_t edges() const { return edges_.size(); }
  std::size_t left(std::uint32_t vertex) const { return kept_[vertex].size(); }

  /// What a strategy of one configuration per vertex costs; rejects any other.
  Cost cost_of(const Numbers& strategy) const;
  /// Leaves out a configuration for another one that costs no more whatever is chosen elsewhere,
  /// `removal` = [vertex, configuration, by], or rejects.
  void leave_out(const Numbers& removal);

  /// The costs of a vertex or, after all vertices, of an edge.
  CostTable term(std::size_t number) const;
  Costs costs_left(std::uint32_t vertex) const;
  /// The remaining costs of an edge, a row per configuration of the end with the lower position.
  CostTable table_left(std::size_t edge, const Numbers& position) const;

 private:
  struct Edge {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    std::size_t table = 0;
  };
  struct Rows {
    std::size_t columns = 0;
    Costs cells;
  };

  void read_table(const Json& value);
  void read_edge(const Json& value);
  void check_sum();
  Cost cell(const Edge& edge, std::uint32_t vertex, std::size_t own, std::size_t other) const;

  Budget& budget_;
  std::vector<Costs> costs_;
  std::vector<Rows> tables_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> edges_of_;  // by vertex
  std::vector<Numbers> kept_;
  std::size_t removals_ = 0;
};

/// Rejects unless proof.lrat refutes the clauses that say that a strategy costs less. Its cost is
/// added up as sums.json says, and of every sum those values are told apart that stand there.
/// Nothing has been left out of the graph.
void refute_cheaper(const StrategyGraph& graph, Cost cost, const Files& files, Budget& budget);

constexpr std::uint64_t kMaxVertices = std::uint64_t{1} << 20U;

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
  if (costs_.empty() || costs_.size() > kMaxVertices) malformed("no vertices, or too many");
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
  if (strategy.size() != vertices())
    reject("the strategy does not have one configuration per vertex");
  Cost sum = 0;
  for (std::size_t v = 0; v < vertices(); ++v) {
    if (strategy[v] >= costs_[v].size()) reject("configuration out of range");
    sum += costs_[v][strategy[v]];
  }
  for (const Edge& edge : edges_) {
    sum += cell(edge, edge.first, strategy[edge.first], strategy[edge.second]);
  }
  return sum;
}

void StrategyGraph::leave_out(const Numbers& removal) {
  const std::string which = "removal " + std::to_string(++removals_) + ": ";
  if (removal.size() != 3 || removal[0] >= vertices()) malformed(which + "unknown vertex");
  const auto [vertex, out, by] = std::tuple(removal[0], removal[1], removal[2]);
  Numbers& kept = kept_[vertex];
  budget_.spend(kept.size());
  const auto found = std::ranges::find(kept, out);
  if (out == by || found == kept.end() || std::ranges::find(kept, by) == kept.end()) {
    reject(which + "not two remaining configurations");
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
    if (!table.cells.empty() && row.size() != table.columns)
      malformed("rows of a table differ in length");
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
    if (!std::ranges::is_sorted(sums.back(), std::less_equal<>()))
      malformed("sums are not strictly ascending");
  }
  if (sums.empty() || sums.size() != additions.size())
    malformed("number of lists of sums mismatch");
  if (sums.back() != Costs{cost}) reject("the last sum is not the cost of the strategy");
  const auto encode = [&](const std::function<void(const Clause&)>& sink) {
    CheaperStrategy cheaper{graph, additions, sums, budget, sink};
    cheaper.encode();
    return cheaper.variables;
  };
  check_refutation(files, encode, budget);
}

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
    made.scope.erase(std::unique(made.scope.begin(), made.scope.end()), made.scope.end());
    std::uint64_t cells = 1;
    for (const std::uint32_t v : made.scope) {
      cells *= graph_.left(v);
      budget_.spend(cells);  // so the product stays small
    }
    budget_.spend(cells * graph_.left(vertex));
    budget_.spend(cells * (graph_.left(vertex) + made.scope.size()) * tables.size());
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

std::string judge_strategy(const std::string&, const Json& statement, const Files& files) {
  Budget budget;
  StrategyGraph graph(statement["problem.json"], budget);
  const Json& strategy = statement["strategy.json"];
  expect_keys(strategy, {"configurations", "cost"});
  const Cost cost = as_costs(Json::array({strategy["cost"]}), budget)[0];
  if (graph.cost_of(as_numbers(strategy["configurations"], std::uint64_t{1} << 32U)) != cost) {
    reject("cost of the strategy mismatch");
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
        malformed("order is not a permutation of the vertices");
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
