#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/program/state_graph.h"
#include "engine/program/transition_graph.h"

namespace p2 {

/// No goal can be reached from a state.
inline constexpr std::uint32_t kUnreachable = UINT32_MAX / 2;

/// Breadth-first search over an abstract domain, whose states are numbered and which has
///
///     std::uint32_t initial();                                   // must be 0
///     std::optional<std::uint32_t> step(std::uint32_t state, std::uint32_t move);
///     std::uint32_t distance_bound(std::uint32_t state) const;   // 0 for goals only
///     std::uint32_t states() const;
///     std::size_t bytes() const;
///
/// `distance_bound` is a lower bound on the number of steps to a goal; states from which no goal
/// can be reached in the steps that are left are not expanded.
template <typename Domain>
TransitionGraph explore(Domain& domain, std::size_t moves, std::uint32_t size, const Limits& limits,
                        SearchProgress* progress) {
  TransitionGraph graph;
  std::vector<NodeId> layer{domain.initial()};
  std::vector<bool> seen{true};
  if (domain.distance_bound(0) == 0) graph.goals.push_back(0);
  const auto complete = [&] {
    graph.offsets.resize(domain.states(), {0, 0});
    return std::move(graph);
  };
  for (std::uint32_t depth = 0; depth < size; ++depth) {
    std::vector<NodeId> next;
    for (const NodeId node : layer) {
      if (limits.exceeded(domain.bytes() + graph.transitions.capacity() * sizeof(Transition))) {
        return complete();
      }
      const std::size_t first = graph.transitions.size();
      for (std::uint32_t move = 0; move < moves; ++move) {
        const auto target = domain.step(node, move);
        if (!target) continue;
        const std::uint32_t bound = domain.distance_bound(*target);
        if (depth + 1 + bound > size) continue;
        graph.transitions.push_back({move, *target});
        if (seen.size() <= *target) seen.resize(domain.states(), false);
        if (seen[*target]) continue;
        seen[*target] = true;
        next.push_back(*target);
        if (bound == 0) graph.goals.push_back(*target);
      }
      if (graph.offsets.size() <= node) graph.offsets.resize(domain.states(), {0, 0});
      graph.offsets[node] = {first, static_cast<std::uint32_t>(graph.transitions.size() - first)};
      if (progress != nullptr) progress->states.fetch_add(1, std::memory_order_relaxed);
    }
    graph.settled = depth + 1;
    layer = std::move(next);
  }
  return complete();
}

}  // namespace p2
