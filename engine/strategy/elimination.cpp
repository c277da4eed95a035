#include "engine/strategy/elimination.h"

#include <algorithm>
#include <span>
#include <utility>

#include "engine/base/invariant.h"

namespace p2::strategy {
namespace {

/// A function of the configurations of some vertices, in the order of their elimination, the
/// configuration of the last varying fastest: so the vertex that is eliminated next is the slowest
/// of all its tables, and the one that stays longest lies contiguous in every table that has it.
struct Table {
  std::vector<std::uint32_t> scope;
  std::vector<Cost> cells;
};

/// A table that is added up with others, and where its cell of the current run is.
struct Operand {
  const Cost* cells = nullptr;
  std::size_t slow = 0;            ///< stride of the vertex that is eliminated
  std::vector<std::size_t> steps;  ///< strides of the vertices of the new table
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
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) put({{v}, graph.costs[v]});
    for (const Edge& edge : graph.edges) put(table_of(edge));
  }

  std::optional<Optimum> run() {
    for (const std::uint32_t vertex : order_) {
      if (graph_.configurations(vertex) == 1) continue;
      std::optional<Table> made = minimised(vertex);
      if (!made) return std::nullopt;
      put(std::move(*made));
    }
    Optimum best{constant_, Strategy(graph_.vertices(), 0)};
    for (auto v = order_.rbegin(); v != order_.rend(); ++v) choose(*v, best.strategy);
    invariant(cost_of(graph_, best.strategy) == best.cost, "the strategy has the least cost");
    return best;
  }

 private:
  Table table_of(const Edge& edge) const {
    if (position_[edge.first] < position_[edge.second]) {
      return {{edge.first, edge.second}, edge.table};
    }
    const std::size_t columns = graph_.configurations(edge.second);
    Table turned{{edge.second, edge.first}, {}};
    turned.cells.reserve(edge.table.size());
    for (std::size_t column = 0; column < columns; ++column) {
      for (std::size_t at = column; at < edge.table.size(); at += columns) {
        turned.cells.push_back(edge.table[at]);
      }
    }
    return turned;
  }

  /// To the vertex of its scope that is eliminated first. One configuration is no choice, and
  /// leaving it out of a scope leaves the cells as they are.
  void put(Table table) {
    std::erase_if(table.scope, [&](std::uint32_t v) { return graph_.configurations(v) == 1; });
    if (table.scope.empty()) {
      constant_ += table.cells[0];
    } else {
      buckets_[position_[table.scope[0]]].push_back(std::move(table));
    }
  }

  /// How far the cell of the table moves when the configuration of `vertex` grows by one.
  std::size_t stride(const Table& table, std::uint32_t vertex) const {
    std::size_t product = 1;
    for (auto at = table.scope.rbegin(); at != table.scope.rend(); ++at) {
      if (*at == vertex) return product;
      product *= graph_.configurations(*at);
    }
    return 0;
  }

  std::optional<Table> minimised(std::uint32_t vertex) const {
    const auto& tables = buckets_[position_[vertex]];
    Table made;
    for (const Table& table : tables) {
      made.scope.insert(made.scope.end(), table.scope.begin() + 1, table.scope.end());
    }
    std::ranges::sort(made.scope, {}, [&](std::uint32_t v) { return position_[v]; });
    made.scope.erase(std::unique(made.scope.begin(), made.scope.end()), made.scope.end());
    std::vector<Operand> operands;
    for (const Table& table : tables) {
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

  /// Run by run of the last vertex of the scope; `false`: the deadline came first.
  bool fill(Table& made, std::vector<Operand>& operands, std::size_t choices) const {
    const std::size_t run = made.scope.empty() ? 1 : graph_.configurations(made.scope.back());
    std::vector<std::size_t> digits(made.scope.size(), 0);
    std::vector<Cost> sum(run);
    for (std::size_t begin = 0; begin < made.cells.size(); begin += run) {
      if (begin / run % 4096 == 0 && limits_.exceeded(0)) return false;
      const std::span<Cost> best(made.cells.data() + begin, run);
      std::ranges::fill(best, kCostEnd);
      for (std::size_t choice = 0; choice < choices; ++choice) {
        add_up(operands, choice, sum);
        for (std::size_t i = 0; i < run; ++i) best[i] = std::min(best[i], sum[i]);
      }
      for (std::size_t d = digits.size(); d-- > 1;) {  // the last digit is the run
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

  /// What the tables add up to along a run, for one configuration of the eliminated vertex.
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
      for (const Table& table : tables) {
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
  std::vector<std::uint32_t> position_;      // of every vertex in the order
  std::vector<std::vector<Table>> buckets_;  // by position of the first vertex in the scope
  Cost constant_ = 0;
};

}  // namespace

std::optional<Optimum> eliminate(const Graph& graph, const EliminationOrder& order,
                                 const Limits& limits) {
  return Elimination(graph, order.vertices, limits).run();
}

}  // namespace p2::strategy
