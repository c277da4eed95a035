#include "engine/strategy/graph.h"

#include <algorithm>
#include <numeric>

namespace p2::strategy {

bool sums_fit(const Graph& graph) {
  Cost left = kCostEnd - 1;
  for (const auto& costs : graph.costs) left -= std::min(left + 1, std::ranges::max(costs));
  for (const Edge& edge : graph.edges) left -= std::min(left + 1, std::ranges::max(edge.table));
  return left >= 0;
}

Cost cost_of(const Graph& graph, const Strategy& strategy) {
  Cost sum = 0;
  for (std::size_t v = 0; v < graph.vertices(); ++v) sum += graph.costs[v][strategy[v]];
  for (const Edge& edge : graph.edges) {
    const std::size_t columns = graph.configurations(edge.second);
    sum += edge.table[strategy[edge.first] * columns + strategy[edge.second]];
  }
  return sum;
}

Kept all_configurations(const Graph& graph) {
  Kept kept;
  for (const auto& costs : graph.costs) {
    auto& numbers = kept.emplace_back(costs.size());
    std::iota(numbers.begin(), numbers.end(), 0U);
  }
  return kept;
}

Graph restricted(const Graph& graph, const Kept& kept) {
  Graph part;
  for (std::size_t v = 0; v < graph.vertices(); ++v) {
    auto& costs = part.costs.emplace_back();
    for (const std::uint32_t c : kept[v]) costs.push_back(graph.costs[v][c]);
  }
  for (const Edge& edge : graph.edges) {
    const std::size_t columns = graph.configurations(edge.second);
    Edge& narrow = part.edges.emplace_back(Edge{edge.first, edge.second, {}});
    narrow.table.reserve(kept[edge.first].size() * kept[edge.second].size());
    for (const std::uint32_t row : kept[edge.first]) {
      for (const std::uint32_t column : kept[edge.second]) {
        narrow.table.push_back(edge.table[row * columns + column]);
      }
    }
  }
  return part;
}

Cost memory_of(const Memory& memory, const Strategy& strategy) {
  Cost sum = 0;
  for (std::size_t v = 0; v < strategy.size(); ++v) sum += memory[v][strategy[v]];
  return sum;
}

Memory restricted(const Memory& memory, const Kept& kept) {
  Memory part;
  for (std::size_t v = 0; v < kept.size(); ++v) {
    auto& own = part.emplace_back();
    for (const std::uint32_t c : kept[v]) own.push_back(memory[v][c]);
  }
  return part;
}

}  // namespace p2::strategy
