#include "engine/strategy/elimination.h"

#include <algorithm>
#include <utility>

#include "engine/invariant.h"

namespace p2::strategy {
namespace {

/// A function of the configurations of some vertices, in the order of their elimination, the
/// configuration of the last varying fastest: so the vertex that is eliminated next is the slowest
/// of all its tables, and the one that stays longest lies contiguous in every table that has it.
struct Table {
  std::vector<std::uint32_t> scope;
  std::vector<Cost> cells;
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

  /// Of every table, how far its cell moves when the configuration of `vertex` grows by one.
  std::vector<std::size_t> strides(const std::vector<Table>& tables, std::uint32_t vertex) const {
    std::vector<std::size_t> found;
    for (const Table& table : tables) {
      std::size_t stride = 1;
      auto at = table.scope.rbegin();
      for (; at != table.scope.rend() && *at != vertex; ++at) stride *= graph_.configurations(*at);
      found.push_back(at == table.scope.rend() ? 0 : stride);
    }
    return found;
  }

  std::optional<Table> minimised(std::uint32_t vertex) {
    const auto& tables = buckets_[position_[vertex]];
    Table made;
    for (const Table& table : tables) {
      made.scope.insert(made.scope.end(), table.scope.begin() + 1, table.scope.end());
    }
    std::ranges::sort(made.scope, {}, [&](std::uint32_t v) { return position_[v]; });
    made.scope.erase(std::unique(made.scope.begin(), made.scope.end()), made.scope.end());
    std::size_t cells = 1;
    for (const std::uint32_t v : made.scope) cells *= graph_.configurations(v);
    made.cells.resize(cells);
    return fill(made, tables, strides(tables, vertex), graph_.configurations(vertex))
               ? std::optional(std::move(made))
               : std::nullopt;
  }

  /// Run by run of the last vertex of the scope. `slow`: the strides of the eliminated vertex.
  bool fill(Table& made, const std::vector<Table>& tables, const std::vector<std::size_t>& slow,
            std::size_t choices) {
    const std::size_t run = made.scope.empty() ? 1 : graph_.configurations(made.scope.back());
    std::vector<bool> varies(tables.size(), false);
    std::vector<std::vector<std::size_t>> steps;
    for (const std::uint32_t v : made.scope) steps.push_back(strides(tables, v));
    for (std::size_t t = 0; t < tables.size() && !steps.empty(); ++t) {
      varies[t] = steps.back()[t] != 0;
    }
    std::vector<std::size_t> at(tables.size(), 0);
    std::vector<std::size_t> digits(made.scope.size(), 0);
    std::vector<Cost> sum(run);
    for (std::size_t begin = 0; begin < made.cells.size(); begin += run) {
      if (begin / run % 4096 == 0 && limits_.exceeded(0)) return false;
      Cost* const best = made.cells.data() + begin;
      for (std::size_t choice = 0; choice < choices; ++choice) {
        Cost constant = 0;
        for (std::size_t t = 0; t < tables.size(); ++t) {
          if (!varies[t]) constant += tables[t].cells[at[t] + choice * slow[t]];
        }
        std::ranges::fill(sum, constant);
        for (std::size_t t = 0; t < tables.size(); ++t) {
          if (!varies[t]) continue;
          const Cost* const row = tables[t].cells.data() + at[t] + choice * slow[t];
          for (std::size_t i = 0; i < run; ++i) sum[i] += row[i];
        }
        for (std::size_t i = 0; i < run; ++i) {
          best[i] = choice == 0 ? sum[i] : std::min(best[i], sum[i]);
        }
      }
      for (std::size_t d = digits.size(); d-- > 1;) {  // the last digit is the run
        const std::size_t size = graph_.configurations(made.scope[d - 1]);
        const bool carry = ++digits[d - 1] == size;
        for (std::size_t t = 0; t < tables.size(); ++t) {
          at[t] += steps[d - 1][t];
          if (carry) at[t] -= size * steps[d - 1][t];
        }
        if (!carry) break;
        digits[d - 1] = 0;
      }
    }
    return true;
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
