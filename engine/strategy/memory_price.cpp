#include "engine/strategy/memory_price.h"

namespace p2::strategy {

Cost memory_of(const Memory& memory, const Strategy& strategy) {
  Cost sum = 0;
  for (std::size_t v = 0; v < strategy.size(); ++v) sum += memory[v][strategy[v]];
  return sum;
}

Graph priced(Graph graph, const Memory& memory, Price price) {
  for (std::size_t v = 0; v < graph.costs.size(); ++v) {
    for (std::size_t c = 0; c < graph.costs[v].size(); ++c) {
      graph.costs[v][c] += static_cast<Cost>(worth(price, memory[v][c]));
    }
  }
  return graph;
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
