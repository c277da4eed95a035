#include "engine/program/program_list.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace p2 {
namespace {

constexpr std::uint32_t kFar = UINT32_MAX;

/// The fewest moves from every node to the goal, or kFar.
std::vector<std::uint32_t> distances_to_goal(const StateGraph& graph) {
  std::vector<std::vector<NodeId>> sources(graph.nodes());
  for (NodeId node = 0; node < graph.nodes(); ++node) {
    for (const Transition& t : graph.transitions(node)) sources[t.target].push_back(node);
  }
  std::vector<std::uint32_t> distance(graph.nodes(), kFar);
  std::vector<NodeId> layer{graph.goal()};
  distance[graph.goal()] = 0;
  for (std::uint32_t steps = 1; !layer.empty(); ++steps) {
    std::vector<NodeId> next;
    for (const NodeId node : layer) {
      for (const NodeId source : sources[node]) {
        if (distance[source] != kFar) continue;
        distance[source] = steps;
        next.push_back(source);
      }
    }
    layer = std::move(next);
  }
  return distance;
}

}  // namespace

ProgramList::ProgramList(const Problem& problem, std::uint32_t size, const Limits& limits,
                         SearchProgress* progress, const Terms& terms) {
  const StateGraph graph(problem, terms, size, limits, progress);
  settled_ = graph.settled();
  states_ = graph.nodes();
  reached_ = graph.reached_goal();
  if (!reached_) return;
  cut_down(graph);
  count_paths();
}

void ProgramList::cut_down(const StateGraph& graph) {
  const std::vector<std::uint32_t> distance = distances_to_goal(graph);
  std::vector<NodeId> renumbered(graph.nodes(), kFar);
  NodeId kept = 0;
  for (NodeId node = 0; node < graph.nodes(); ++node) {
    if (distance[node] <= settled_) renumbered[node] = kept++;
  }
  reached_ = distance[0] <= settled_;
  if (!reached_) return;
  nodes_.resize(kept);
  goal_ = renumbered[graph.goal()];
  for (NodeId node = 0; node < graph.nodes(); ++node) {
    if (renumbered[node] == kFar) continue;
    for (const Transition& t : graph.transitions(node)) {
      if (renumbered[t.target] == kFar) continue;
      nodes_[renumbered[node]].push_back({t.move, renumbered[t.target]});
    }
  }
}

void ProgramList::count_paths() {
  if (!reached_) return;
  const auto checked_add = [](std::uint64_t a, std::uint64_t b) {
    if (a > std::numeric_limits<std::uint64_t>::max() - b) {
      throw std::length_error("more than 2^64 programs, expected a smaller --size");
    }
    return a + b;
  };
  paths_.assign((std::size_t{settled_} + 1) * nodes_.size(), 0);
  paths_[goal_] = 1;
  for (std::uint32_t left = 1; left <= settled_; ++left) {
    for (NodeId node = 0; node < nodes_.size(); ++node) {
      std::uint64_t total = 0;
      for (const Transition& t : nodes_[node])
        total = checked_add(total, paths(t.target, left - 1));
      paths_[std::size_t{left} * nodes_.size() + node] = total;
    }
  }
  for (std::uint32_t size = 0; size <= settled_; ++size)
    count_ = checked_add(count_, paths(0, size));
}

void ProgramList::for_each(const Visit& visit) const {
  if (!reached_) return;
  std::vector<std::uint32_t> moves;
  for (std::uint32_t size = 0; size <= settled_; ++size) walk(0, size, moves, visit);
}

std::vector<bool> ProgramList::paths_with(const std::vector<bool>& wanted) const {
  std::vector<bool> with((std::size_t{settled_} + 1) * nodes_.size(), false);
  for (std::uint32_t left = 1; left <= settled_; ++left) {
    for (NodeId node = 0; node < nodes_.size(); ++node) {
      with[std::size_t{left} * nodes_.size() + node] =
          std::any_of(nodes_[node].begin(), nodes_[node].end(), [&](const Transition& t) {
            return (wanted[t.move] && paths(t.target, left - 1) > 0) ||
                   with[(std::size_t{left} - 1) * nodes_.size() + t.target];
          });
    }
  }
  return with;
}

std::optional<std::vector<std::uint32_t>> ProgramList::first_with(
    const std::vector<bool>& wanted) const {
  if (!reached_) return std::nullopt;
  const std::vector<bool> with = paths_with(wanted);
  std::uint32_t left = 0;
  while (left <= settled_ && !with[std::size_t{left} * nodes_.size()]) ++left;
  if (left > settled_) return std::nullopt;
  std::vector<std::uint32_t> moves;
  bool found = false;
  for (NodeId node = 0; left > 0;) {
    --left;
    const auto next = std::find_if(nodes_[node].begin(), nodes_[node].end(), [&](Transition t) {
      const bool anything = paths(t.target, left) > 0;
      return (anything && (found || wanted[t.move])) ||
             with[std::size_t{left} * nodes_.size() + t.target];
    });
    found = found || wanted[next->move];
    moves.push_back(next->move);
    node = next->target;
  }
  return moves;
}

void ProgramList::walk(NodeId node, std::uint32_t left, std::vector<std::uint32_t>& moves,
                       const Visit& visit) const {
  if (paths(node, left) == 0) return;
  if (left == 0) return visit(moves);
  for (const Transition& t : nodes_[node]) {
    moves.push_back(t.move);
    walk(t.target, left - 1, moves, visit);
    moves.pop_back();
  }
}

}  // namespace p2
