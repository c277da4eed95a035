#include "engine/strategy/strategy.h"

#include <utility>

namespace p2::strategy {

Answer find_strategy(const Graph& graph, const Limits& limits) {
  constexpr std::uint64_t kMemory = std::uint64_t{4} << 30U;
  Reduction reduction = remove_dominated(graph);
  const Graph part = restricted(graph, reduction.kept);
  Answer answer{{}, std::move(reduction.removals), elimination_order(part)};
  answer.found =
      branch_and_bound(part, answer.order, limits.memory_bytes.value_or(kMemory), limits);
  for (std::size_t v = 0; v < graph.vertices(); ++v) {
    answer.found.strategy[v] = reduction.kept[v][answer.found.strategy[v]];
  }
  return answer;
}

}  // namespace p2::strategy
