#include "engine/strategy/small_graphs.h"

#include <algorithm>

namespace p2::strategy {
namespace {

/// The next number below `end`. Distributions of the library differ from one to the next.
std::uint64_t below(std::mt19937& random, std::uint64_t end) { return random() % end; }

}  // namespace

Graph tied_graph(std::mt19937& random, std::uint32_t least, std::uint32_t most) {
  const auto costs = [&](std::size_t count) {
    std::vector<Cost> made(count);
    for (Cost& cost : made) cost = below(random, 8) == 0 ? 1 : 0;
    return made;
  };
  Graph graph;
  const std::uint64_t vertices = least + below(random, most - least + 1);
  for (std::uint64_t v = 0; v < vertices; ++v) graph.costs.push_back(costs(2));
  for (std::uint32_t a = 0; a < vertices; ++a) {
    for (std::uint32_t b = a + 1; b < vertices; ++b) {
      if (b == a + 1 || below(random, 5) == 0) graph.edges.push_back({a, b, costs(4)});
    }
  }
  return graph;
}

Graph disguised(Graph graph, std::mt19937& random) {
  constexpr Cost kMost = 100;
  for (Edge& edge : graph.edges) {
    const std::size_t columns = graph.configurations(edge.second);
    for (const std::uint32_t end : {edge.first, edge.second}) {
      for (std::size_t c = 0; c < graph.configurations(end); ++c) {
        const auto moved = static_cast<Cost>(below(random, kMost + 1));
        graph.costs[end][c] += kMost - moved;
        for (std::size_t cell = 0; cell < edge.table.size(); ++cell) {
          const std::size_t own = end == edge.first ? cell / columns : cell % columns;
          if (own == c) edge.table[cell] += moved;
        }
      }
    }
  }
  return graph;
}

bool next_strategy(const Graph& graph, Strategy& strategy) {
  std::uint32_t v = 0;
  while (v < graph.vertices() && ++strategy[v] == graph.configurations(v)) strategy[v++] = 0;
  return v < graph.vertices();
}

Cost least_by_enumeration(const Graph& graph) {
  Strategy strategy(graph.vertices(), 0);
  Cost least = kCostEnd;
  do {
    least = std::min(least, cost_of(graph, strategy));
  } while (next_strategy(graph, strategy));
  return least;
}

}  // namespace p2::strategy
