#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/collective/device_state.h"
#include "engine/program/state_graph.h"

namespace p2 {

/// Interns sequences of words: equal sequences have equal ids, numbered from 0.
class WordTable {
 public:
  std::uint32_t intern(std::span<const std::uint32_t> words) {
    std::uint64_t hash = words.size();
    for (const std::uint32_t word : words) hash = mix(hash, word);
    const auto known =
        ids_.find(hash, [&](std::uint32_t id) { return std::ranges::equal((*this)[id], words); });
    if (known) return *known;
    words_.insert(words_.end(), words.begin(), words.end());
    ends_.push_back(words_.size());
    return ids_.add(hash);
  }

  /// Valid until the next call of `intern`.
  std::span<const std::uint32_t> operator[](std::uint32_t id) const {
    const std::size_t begin = id == 0 ? 0 : ends_[id - 1];
    return {words_.data() + begin, ends_[id] - begin};
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size()); }
  std::size_t bytes() const {
    return ids_.bytes() + words_.capacity() * sizeof(std::uint32_t) +
           ends_.capacity() * sizeof(std::size_t);
  }

 private:
  IdTable ids_;
  std::vector<std::uint32_t> words_;
  std::vector<std::size_t> ends_;
};

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
