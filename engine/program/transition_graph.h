#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace p2 {

/// A node of a TransitionGraph: a system state, concrete or abstract. 0 is the initial one.
using NodeId = std::uint32_t;

struct Transition {
  std::uint32_t move = 0;
  NodeId target = 0;
};

/// What a search found: states and the legal moves between them. The transitions of a node are in
/// the order of the problem's moves.
struct TransitionGraph {
  std::vector<Transition> transitions;
  std::vector<std::pair<std::size_t, std::uint32_t>> offsets;  ///< node → first transition, count
  std::vector<NodeId> goals;
  /// Every valid program of at most this size is a path to a goal.
  std::uint32_t settled = 0;

  std::size_t nodes() const { return offsets.size(); }
  std::span<const Transition> from(NodeId node) const {
    return {transitions.data() + offsets[node].first, offsets[node].second};
  }
};

}  // namespace p2
