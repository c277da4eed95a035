#include "engine/strategy/branch_and_bound.h"

#include <algorithm>

#include "engine/strategy/dominance.h"

namespace p2::strategy {
namespace {

/// Every configuration of every vertex with the least that its edges to later vertices add: the
/// sum of the minima is a bound.
std::vector<std::vector<Cost>> with_least_edges(const Graph& graph) {
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

Cost bound_of(const Graph& graph) {
  Cost sum = 0;
  for (const auto& costs : with_least_edges(graph)) sum += std::ranges::min(costs);
  return sum;
}

/// What every configuration costs while the other vertices keep theirs.
std::vector<std::vector<Cost>> costs_beside(const Graph& graph, const Strategy& strategy) {
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

/// Gives vertices, in order and no two of them neighbours, the first configuration that is best
/// beside the others; false where all have it.
bool improve(const Graph& graph, Strategy& strategy) {
  const auto costs = costs_beside(graph, strategy);
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

/// A strategy to begin with: the best configurations of the bound, improved as long as that goes.
Strategy descent(const Graph& graph) {
  Strategy strategy;
  for (const auto& costs : with_least_edges(graph)) {
    strategy.push_back(static_cast<std::uint32_t>(std::ranges::min_element(costs) - costs.begin()));
  }
  while (improve(graph, strategy)) {
  }
  return strategy;
}

class Search {
 public:
  Search(const Graph& graph, std::uint64_t most_bytes, const Limits& limits)
      : most_bytes_(most_bytes), limits_(limits) {
    best_.strategy = descent(graph);
    best_.cost = best_.bound = cost_of(graph, best_.strategy);
  }

  /// `numbers`: which configurations of the whole graph those of `graph` are.
  void visit(const Graph& graph, const Kept& numbers, const EliminationOrder& order) {
    const Cost bound = bound_of(graph);
    if (bound >= best_.cost) return;
    if (order.cells <= most_bytes_ / sizeof(Cost)) {
      if (const auto optimum = eliminate(graph, order, limits_)) {
        take(*optimum, numbers);
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
  struct Case {
    Cost bound = 0;
    std::uint32_t configuration = 0;
  };

  void take(const Optimum& optimum, const Kept& numbers) {
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
    const std::uint32_t vertex = busiest(graph, order);
    std::vector<Case> cases;
    for (std::uint32_t c = 0; c < graph.configurations(vertex); ++c) {
      cases.push_back({bound_of(fixed(graph, vertex, c)), c});
    }
    std::ranges::stable_sort(cases, {}, &Case::bound);
    for (const Case& next : cases) {
      if (limits_.exceeded(0)) {
        best_.bound = std::min(best_.bound, next.bound);
        return;  // the bounds of the other cases are no lower
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

  /// Of the vertices that meet in the largest table, the one with most edges.
  static std::uint32_t busiest(const Graph& graph, const EliminationOrder& order) {
    std::vector<std::size_t> degree(graph.vertices(), 0);
    for (const Edge& edge : graph.edges) {
      ++degree[edge.first];
      ++degree[edge.second];
    }
    return *std::ranges::max_element(order.largest, {}, [&](std::uint32_t v) { return degree[v]; });
  }

  std::uint64_t most_bytes_;
  const Limits& limits_;
  Found best_;
};

}  // namespace

Found branch_and_bound(const Graph& graph, const EliminationOrder& order, std::uint64_t most_bytes,
                       const Limits& limits) {
  Search search(graph, most_bytes, limits);
  search.visit(graph, all_configurations(graph), order);
  return search.result();
}

}  // namespace p2::strategy
