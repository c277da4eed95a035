#include "engine/strategy/bucket_elimination.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "engine/base/invariant.h"

namespace p2::strategy {
namespace {

constexpr std::uint64_t kSaturated = std::numeric_limits<std::uint64_t>::max();

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kSaturated : product;
}

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  return b > kSaturated - a ? kSaturated : a + b;
}

/// Elimination without tables: the neighbours of an eliminated vertex become adjacent.
class SymbolicElimination {
 public:
  using Score = std::array<std::uint64_t, 2>;

  SymbolicElimination(const Graph& graph, bool min_fill)
      : graph_(graph),
        min_fill_(min_fill),
        neighbours_(graph.vertices()),
        tables_(graph.vertices(), 1),
        scores_(graph.vertices()) {
    for (const Edge& edge : graph.edges) {
      for (const auto& [one, other] :
           {std::pair(edge.first, edge.second), std::pair(edge.second, edge.first)}) {
        ++tables_[one];
        const bool joins = graph.configurations(one) > 1 && graph.configurations(other) > 1;
        if (joins) neighbours_[one].insert(other);
      }
    }
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
      scores_[v] = score(v);
      queue_.emplace(scores_[v], v);
    }
  }

  EliminationOrder run() {
    while (!queue_.empty()) eliminate(queue_.begin()->second);
    return std::move(order_);
  }

 private:
  std::uint64_t cells(std::uint32_t vertex) const {
    std::uint64_t product = 1;
    for (const std::uint32_t n : neighbours_[vertex]) {
      product = saturating_product(product, graph_.configurations(n));
    }
    return product;
  }

  Score score(std::uint32_t vertex) const {
    std::uint64_t pairs = 0;
    const auto& neighbours = neighbours_[vertex];
    for (auto a = neighbours.begin(); a != neighbours.end(); ++a) {
      for (auto b = std::next(a); b != neighbours.end(); ++b)
        pairs += !neighbours_[*a].contains(*b);
    }
    return min_fill_ ? Score{pairs, cells(vertex)} : Score{cells(vertex), pairs};
  }

  void eliminate(std::uint32_t vertex) {
    const std::set<std::uint32_t> neighbours = neighbours_[vertex];
    order_.vertices.push_back(vertex);
    if (graph_.configurations(vertex) > 1) count(vertex);
    queue_.erase({scores_[vertex], vertex});
    std::set<std::uint32_t> affected = neighbours;
    for (const std::uint32_t n : neighbours) {
      ++tables_[n];  // an upper bound: the tables of `vertex` are gone
      neighbours_[n].erase(vertex);
      for (const std::uint32_t m : neighbours) {
        if (m != n) neighbours_[n].insert(m);
      }
      affected.insert(neighbours_[n].begin(), neighbours_[n].end());
    }
    affected.erase(vertex);
    for (const std::uint32_t n : affected) {
      queue_.erase({scores_[n], n});
      scores_[n] = score(n);
      queue_.emplace(scores_[n], n);
    }
  }

  void count(std::uint32_t vertex) {
    const std::uint64_t made = cells(vertex);
    if (made > largest_) {
      largest_ = made;
      order_.largest.assign(neighbours_[vertex].begin(), neighbours_[vertex].end());
      order_.largest.push_back(vertex);
    }
    order_.cells = saturating_sum(order_.cells, made);
    order_.additions = saturating_sum(
        order_.additions, saturating_product(made, saturating_product(graph_.configurations(vertex),
                                                                      tables_[vertex])));
  }

  const Graph& graph_;
  bool min_fill_;
  std::vector<std::set<std::uint32_t>> neighbours_;
  std::vector<std::uint64_t> tables_;  // by vertex: an upper bound of the tables with it in scope
  std::vector<Score> scores_;
  std::set<std::pair<Score, std::uint32_t>> queue_;  // of the vertices that are left
  std::uint64_t largest_ = 0;
  EliminationOrder order_;
};

}  // namespace

EliminationOrder elimination_order(const Graph& graph) {
  EliminationOrder min_weight = SymbolicElimination(graph, false).run();
  EliminationOrder min_fill = SymbolicElimination(graph, true).run();
  return min_fill.additions < min_weight.additions ? min_fill : min_weight;
}

namespace {

/// A cost function. The scope is in elimination order and the last vertex varies fastest, so that
/// the vertex eliminated last is contiguous in every table that has it.
struct CostTable {
  std::vector<std::uint32_t> scope;
  std::vector<Cost> cells;
};

/// A table of the bucket being summed, and its cell in the current run.
struct Operand {
  const Cost* cells = nullptr;
  std::size_t slow = 0;            ///< stride of the eliminated vertex
  std::vector<std::size_t> steps;  ///< strides of the vertices of the result
  std::size_t at = 0;

  bool varies() const { return !steps.empty() && steps.back() != 0; }
  const Cost* row(std::size_t choice) const { return cells + at + choice * slow; }
};

class Elimination {
 public:
  Elimination(const Graph& graph, const std::vector<std::uint32_t>& order, const Limits& limits)
      : graph_(graph),
        order_(order),
        limits_(limits),
        position_(order.size()),
        buckets_(order.size()) {
    for (std::uint32_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) add_to_bucket({{v}, graph.costs[v]});
    for (const Edge& edge : graph.edges) add_to_bucket(table_of(edge));
  }

  std::optional<Optimum> run() {
    for (const std::uint32_t vertex : order_) {
      if (graph_.configurations(vertex) == 1) continue;
      std::optional<CostTable> made = minimise_out(vertex);
      if (!made) return std::nullopt;
      add_to_bucket(std::move(*made));
    }
    Optimum best{constant_, Strategy(graph_.vertices(), 0)};
    for (auto v = order_.rbegin(); v != order_.rend(); ++v) choose(*v, best.strategy);
    invariant(cost_of(graph_, best.strategy) == best.cost, "the strategy has the computed cost");
    return best;
  }

 private:
  CostTable table_of(const Edge& edge) const {
    if (position_[edge.first] < position_[edge.second]) {
      return {{edge.first, edge.second}, edge.table};
    }
    const std::size_t columns = graph_.configurations(edge.second);
    CostTable turned{{edge.second, edge.first}, {}};
    turned.cells.reserve(edge.table.size());
    for (std::size_t column = 0; column < columns; ++column) {
      for (std::size_t at = column; at < edge.table.size(); at += columns) {
        turned.cells.push_back(edge.table[at]);
      }
    }
    return turned;
  }

  /// To the bucket of the scope's vertex that is eliminated first. Vertices with one configuration
  /// are dropped from the scope, which leaves the cells unchanged.
  void add_to_bucket(CostTable table) {
    std::erase_if(table.scope, [&](std::uint32_t v) { return graph_.configurations(v) == 1; });
    if (table.scope.empty()) {
      constant_ += table.cells[0];
    } else {
      buckets_[position_[table.scope[0]]].push_back(std::move(table));
    }
  }

  /// The distance of cells whose configurations of `vertex` differ by one.
  std::size_t stride(const CostTable& table, std::uint32_t vertex) const {
    std::size_t product = 1;
    for (auto at = table.scope.rbegin(); at != table.scope.rend(); ++at) {
      if (*at == vertex) return product;
      product *= graph_.configurations(*at);
    }
    return 0;
  }

  std::optional<CostTable> minimise_out(std::uint32_t vertex) const {
    const auto& tables = buckets_[position_[vertex]];
    CostTable made;
    for (const CostTable& table : tables) {
      made.scope.insert(made.scope.end(), table.scope.begin() + 1, table.scope.end());
    }
    std::ranges::sort(made.scope, {}, [&](std::uint32_t v) { return position_[v]; });
    made.scope.erase(std::unique(made.scope.begin(), made.scope.end()), made.scope.end());
    std::vector<Operand> operands;
    for (const CostTable& table : tables) {
      Operand& operand =
          operands.emplace_back(Operand{table.cells.data(), stride(table, vertex), {}});
      for (const std::uint32_t v : made.scope) operand.steps.push_back(stride(table, v));
    }
    std::size_t cells = 1;
    for (const std::uint32_t v : made.scope) cells *= graph_.configurations(v);
    made.cells.resize(cells);
    if (!fill(made, operands, graph_.configurations(vertex))) return std::nullopt;
    return made;
  }

  /// Run by run of the scope's last vertex; false where a limit is reached.
  bool fill(CostTable& made, std::vector<Operand>& operands, std::size_t configurations) const {
    const std::size_t run = made.scope.empty() ? 1 : graph_.configurations(made.scope.back());
    std::vector<std::size_t> digits(made.scope.size(), 0);
    std::vector<Cost> sum(run);
    for (std::size_t begin = 0; begin < made.cells.size(); begin += run) {
      if (begin / run % 4096 == 0 && limits_.exceeded(0)) return false;
      const std::span<Cost> best(made.cells.data() + begin, run);
      std::ranges::fill(best, kCostEnd);
      for (std::size_t choice = 0; choice < configurations; ++choice) {
        add_up(operands, choice, sum);
        for (std::size_t i = 0; i < run; ++i) best[i] = std::min(best[i], sum[i]);
      }
      for (std::size_t d = digits.size(); d-- > 1;) {  // the run covers the last digit
        const std::size_t size = graph_.configurations(made.scope[d - 1]);
        const bool carry = ++digits[d - 1] == size;
        if (carry) digits[d - 1] = 0;
        for (Operand& operand : operands) {
          operand.at += operand.steps[d - 1];
          if (carry) operand.at -= size * operand.steps[d - 1];
        }
        if (!carry) break;
      }
    }
    return true;
  }

  /// The sum of the tables along a run, for one configuration of the eliminated vertex.
  static void add_up(const std::vector<Operand>& operands, std::size_t choice,
                     std::vector<Cost>& sum) {
    Cost constant = 0;
    for (const Operand& operand : operands) {
      if (!operand.varies()) constant += operand.row(choice)[0];
    }
    bool first = true;
    for (const Operand& operand : operands) {
      if (!operand.varies()) continue;
      const Cost* const row = operand.row(choice);
      if (first) {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = constant + row[i];
      } else {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row[i];
      }
      first = false;
    }
    if (first) std::ranges::fill(sum, constant);
  }

  /// The first of the best configurations of `vertex`, given those of the vertices after it.
  void choose(std::uint32_t vertex, Strategy& strategy) const {
    Cost least = kCostEnd;
    std::uint32_t best = 0;
    const auto& tables = buckets_[position_[vertex]];
    for (std::uint32_t c = 0; c < graph_.configurations(vertex); ++c) {
      strategy[vertex] = c;
      Cost cost = 0;
      for (const CostTable& table : tables) {
        std::size_t at = 0;
        for (const std::uint32_t v : table.scope) at = at * graph_.configurations(v) + strategy[v];
        cost += table.cells[at];
      }
      if (cost < least) {
        least = cost;
        best = c;
      }
    }
    strategy[vertex] = best;
  }

  const Graph& graph_;
  const std::vector<std::uint32_t>& order_;
  const Limits& limits_;
  std::vector<std::uint32_t> position_;          // by vertex, in the order
  std::vector<std::vector<CostTable>> buckets_;  // by position of the first vertex in the scope
  Cost constant_ = 0;
};

}  // namespace

std::optional<Optimum> eliminate(const Graph& graph, const EliminationOrder& order,
                                 const Limits& limits) {
  return Elimination(graph, order.vertices, limits).run();
}

}  // namespace p2::strategy
