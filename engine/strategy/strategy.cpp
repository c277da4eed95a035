#include "engine/strategy/strategy.h"

#include <algorithm>
#include <utility>

namespace p2::strategy {
namespace {

/// Costs by vertex and configuration plus the row minima of edges to later vertices: the sum over
/// vertices of the minima is a lower bound.
std::vector<std::vector<Cost>> costs_with_edge_minima(const Graph& graph) {
  std::vector<std::vector<Cost>> costs = graph.costs;
  for (const Edge& edge : graph.edges) {
    const auto columns = std::ssize(graph.costs[edge.second]);
    for (std::size_t row = 0; row < costs[edge.first].size(); ++row) {
      const auto begin = edge.table.begin() + static_cast<std::ptrdiff_t>(row) * columns;
      costs[edge.first][row] += *std::min_element(begin, begin + columns);
    }
  }
  return costs;
}

Cost lower_bound(const Graph& graph) {
  Cost sum = 0;
  for (const auto& costs : costs_with_edge_minima(graph)) sum += std::ranges::min(costs);
  return sum;
}

/// The cost of every configuration given the configurations of all other vertices.
std::vector<std::vector<Cost>> conditional_costs(const Graph& graph, const Strategy& strategy) {
  std::vector<std::vector<Cost>> costs = graph.costs;
  for (const Edge& edge : graph.edges) {
    const std::size_t columns = graph.configurations(edge.second);
    for (std::size_t row = 0; row < costs[edge.first].size(); ++row) {
      costs[edge.first][row] += edge.table[row * columns + strategy[edge.second]];
    }
    for (std::size_t column = 0; column < columns; ++column) {
      costs[edge.second][column] += edge.table[strategy[edge.first] * columns + column];
    }
  }
  return costs;
}

/// One pass of local search: changes pairwise non-adjacent vertices to their best configuration
/// given the others; false at a local optimum.
bool improve(const Graph& graph, Strategy& strategy) {
  const auto costs = conditional_costs(graph, strategy);
  std::vector<bool> stale(graph.vertices(), false);
  bool improved = false;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    const auto best = std::ranges::min_element(costs[v]);
    if (stale[v] || *best == costs[v][strategy[v]]) continue;
    strategy[v] = static_cast<std::uint32_t>(best - costs[v].begin());
    improved = true;
    for (const Edge& edge : graph.edges) {
      if (edge.first == v || edge.second == v) stale[edge.first + edge.second - v] = true;
    }
  }
  return improved;
}

/// A first strategy: the minimisers of the lower bound, improved by local search.
Strategy local_optimum(const Graph& graph) {
  Strategy strategy;
  for (const auto& costs : costs_with_edge_minima(graph)) {
    strategy.push_back(static_cast<std::uint32_t>(std::ranges::min_element(costs) - costs.begin()));
  }
  while (improve(graph, strategy)) {
  }
  return strategy;
}

class Search {
 public:
  Search(const Graph& graph, std::uint64_t max_bytes, const Limits& limits)
      : max_bytes_(max_bytes), limits_(limits) {
    best_.strategy = local_optimum(graph);
    best_.cost = best_.bound = cost_of(graph, best_.strategy);
  }

  /// `numbers`: the configurations of the whole graph that those of `graph` stand for.
  void visit(const Graph& graph, const Kept& numbers, const EliminationOrder& order) {
    const Cost bound = lower_bound(graph);
    if (bound >= best_.cost) return;
    if (order.cells <= max_bytes_ / sizeof(Cost)) {
      if (const auto optimum = eliminate(graph, order, limits_)) {
        record(*optimum, numbers);
      } else {
        best_.bound = std::min(best_.bound, bound);
      }
    } else {
      branch(graph, numbers, order);
    }
  }

  Found result() {
    best_.bound = std::min(best_.bound, best_.cost);
    return std::move(best_);
  }

 private:
  struct Branch {
    Cost bound = 0;
    std::uint32_t configuration = 0;
  };

  void record(const Optimum& optimum, const Kept& numbers) {
    if (optimum.cost >= best_.cost) return;
    best_.cost = optimum.cost;
    for (std::size_t v = 0; v < numbers.size(); ++v) {
      best_.strategy[v] = numbers[v][optimum.strategy[v]];
    }
  }

  static Graph fixed(const Graph& graph, std::uint32_t vertex, std::uint32_t configuration) {
    Kept kept = all_configurations(graph);
    kept[vertex] = {configuration};
    return restricted(graph, kept);
  }

  void branch(const Graph& graph, const Kept& numbers, const EliminationOrder& order) {
    const std::uint32_t vertex = branching_vertex(graph, order);
    std::vector<Branch> branches;
    for (std::uint32_t c = 0; c < graph.configurations(vertex); ++c) {
      branches.push_back({lower_bound(fixed(graph, vertex, c)), c});
    }
    std::ranges::stable_sort(branches, {}, &Branch::bound);
    for (const Branch& next : branches) {
      if (limits_.exceeded(0)) {
        best_.bound = std::min(best_.bound, next.bound);
        return;  // the bounds of the other branches are no lower
      }
      const Graph whole = fixed(graph, vertex, next.configuration);
      const Kept kept = remove_dominated(whole).kept;
      Kept inner = numbers;
      for (std::size_t v = 0; v < kept.size(); ++v) {
        inner[v].clear();
        for (const std::uint32_t c : kept[v]) {
          inner[v].push_back(numbers[v][v == vertex ? next.configuration : c]);
        }
      }
      const Graph part = restricted(whole, kept);
      visit(part, inner, elimination_order(part));
    }
  }

  /// The vertex of highest degree in the largest bucket.
  static std::uint32_t branching_vertex(const Graph& graph, const EliminationOrder& order) {
    std::vector<std::size_t> degree(graph.vertices(), 0);
    for (const Edge& edge : graph.edges) {
      ++degree[edge.first];
      ++degree[edge.second];
    }
    return *std::ranges::max_element(order.largest, {}, [&](std::uint32_t v) { return degree[v]; });
  }

  std::uint64_t max_bytes_;
  const Limits& limits_;
  Found best_;
};

}  // namespace

Found branch_and_bound(const Graph& graph, const EliminationOrder& order, std::uint64_t max_bytes,
                       const Limits& limits) {
  Search search(graph, max_bytes, limits);
  search.visit(graph, all_configurations(graph), order);
  return search.result();
}

Solution find_strategy(const Graph& graph, const Limits& limits, std::size_t max_table_bytes) {
  Reduction reduction = remove_dominated(graph);
  const Graph part = restricted(graph, reduction.kept);
  Solution answer{{}, std::move(reduction.removals), elimination_order(part)};
  answer.found = branch_and_bound(part, answer.order, limits.room(max_table_bytes), limits);
  for (std::size_t v = 0; v < graph.vertices(); ++v) {
    answer.found.strategy[v] = reduction.kept[v][answer.found.strategy[v]];
  }
  return answer;
}

namespace {

/// The table of an edge with a row per configuration of one of its ends, both ends reduced.
struct Side {
  std::size_t columns = 0;
  std::vector<Cost> cells;
  std::vector<Cost> least;  ///< by row

  const Cost* row(std::size_t r) const { return cells.data() + r * columns; }
};

class Dominance {
 public:
  Dominance(const Graph& graph, const std::vector<std::vector<Cost>>* memory)
      : graph_(graph), memory_(memory), edges_(graph.vertices()), changed_(graph.vertices(), true) {
    result_.kept = all_configurations(graph);
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
      edges_[graph.edges[e].first].push_back(e);
      edges_[graph.edges[e].second].push_back(e);
    }
  }

  Reduction run() {
    while (std::ranges::find(changed_, true) != changed_.end()) {
      for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
        if (!changed_[v]) continue;
        changed_[v] = false;
        reduce(v);
      }
    }
    return std::move(result_);
  }

 private:
  Side side_of(const Edge& edge, std::uint32_t vertex) const {
    const bool is_first = edge.first == vertex;
    const std::size_t width = graph_.configurations(edge.second);
    const auto& columns = result_.kept[is_first ? edge.second : edge.first];
    Side side{columns.size(), {}, {}};
    for (const std::uint32_t own : result_.kept[vertex]) {
      for (const std::uint32_t other : columns) {
        side.cells.push_back(edge.table[is_first ? own * width + other : other * width + own]);
      }
      side.least.push_back(
          *std::min_element(side.cells.end() - std::ssize(columns), side.cells.end()));
    }
    return side;
  }

  void reduce(std::uint32_t vertex) {
    auto& kept = result_.kept[vertex];
    sides_.clear();
    for (const std::size_t e : edges_[vertex]) sides_.push_back(side_of(graph_.edges[e], vertex));
    least_.assign(kept.size(), 0);
    for (std::size_t c = 0; c < kept.size(); ++c) {
      least_[c] = graph_.costs[vertex][kept[c]];
      for (const Side& side : sides_) least_[c] += side.least[c];
    }
    std::vector<std::size_t> remaining(kept.size());
    for (std::size_t c = 0; c < kept.size(); ++c) remaining[c] = c;
    for (std::size_t c = kept.size(); c-- > 0;) {
      const auto by = std::ranges::find_if(remaining, [&](std::size_t other) {
        return other != c && needs_no_more(vertex, kept[other], kept[c]) && dominates(other, c);
      });
      if (by == remaining.end()) continue;
      result_.removals.push_back({vertex, kept[c], kept[*by]});
      std::erase(remaining, c);
    }
    if (remaining.size() == kept.size()) return;
    for (std::size_t& c : remaining) c = kept[c];
    kept.assign(remaining.begin(), remaining.end());
    for (const std::size_t e : edges_[vertex]) {
      changed_[graph_.edges[e].first + graph_.edges[e].second - vertex] = true;
    }
  }

  bool needs_no_more(std::uint32_t vertex, std::uint32_t by, std::uint32_t c) const {
    return memory_ == nullptr || (*memory_)[vertex][by] <= (*memory_)[vertex][c];
  }

  /// Starts from an optimistic bound, the difference of row minima, and makes it exact edge by
  /// edge.
  bool dominates(std::size_t by, std::size_t c) const {
    Cost worst = least_[by] - least_[c];
    if (worst > 0) return false;
    for (const Side& side : sides_) {
      worst -= side.least[by] - side.least[c];
      const Cost* const more = side.row(by);
      const Cost* const less = side.row(c);
      Cost difference = more[0] - less[0];
      for (std::size_t i = 1; i < side.columns && worst + difference <= 0; ++i) {
        difference = std::max(difference, more[i] - less[i]);
      }
      worst += difference;
      if (worst > 0) return false;
    }
    return true;
  }

  const Graph& graph_;
  const std::vector<std::vector<Cost>>* memory_;
  std::vector<std::vector<std::size_t>> edges_;  // by vertex
  std::vector<bool> changed_;                    // by vertex: a neighbour has lost configurations
  Reduction result_;
  // Of the vertex being reduced:
  std::vector<Side> sides_;
  std::vector<Cost> least_;
};

}  // namespace

Reduction remove_dominated(const Graph& graph, const std::vector<std::vector<Cost>>* memory) {
  return Dominance(graph, memory).run();
}

}  // namespace p2::strategy
