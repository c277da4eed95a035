#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/collective/id_table.h"
#include "engine/collective/kernels.h"
#include "p2/limits.h"
#include "engine/program/problem.h"
#include "engine/program/progress.h"

namespace p2 {

/// Names a state of the whole simulated system inside a StateGraph; 0 is the initial one.
using NodeId = std::uint32_t;

struct Transition {
  std::uint32_t move = 0;
  NodeId target = 0;
};

/// Every state that at most `size` legal moves lead to, each once, and the moves between them,
/// found breadth first. In the last layer only moves into the goal are kept. The order of nodes and
/// transitions depends on the problem alone.
class StateGraph {
 public:
  /// Counts the states it expands in `progress`, if there is one.
  StateGraph(const Problem& problem, const Terms& terms, std::uint32_t size, const Limits& limits,
             SearchProgress* progress = nullptr);

  std::size_t nodes() const { return offsets_.size(); }
  /// Legal moves out of a node, in the order of the problem's moves; none out of the goal.
  std::span<const Transition> transitions(NodeId node) const;
  bool reached_goal() const { return goal_node_ != kNoNode; }
  /// The goal's node; it must have been reached.
  NodeId goal() const { return goal_node_; }
  /// Programs up to this size are complete: `size`, or less when a limit was met.
  std::uint32_t settled() const { return settled_; }

 private:
  static constexpr NodeId kNoNode = UINT32_MAX;

  /// The groups of one pattern by their first devices and their members' offsets from them.
  struct Groups {
    std::vector<std::uint32_t> bases;
    std::vector<std::uint32_t> offsets;
  };

  void set_up(const Goal& goal);
  std::span<const StateId> state(NodeId node) const {
    return {states_of_nodes_.data() + std::size_t{node} * problem_.devices, problem_.devices};
  }
  /// False when a limit was met; what was found of the node's transitions is then kept.
  bool expand(NodeId node, bool last);
  bool run(const Groups& groups, Collective collective, NodeId node, bool last);
  /// The node of the state in `work_`, new if it was not known.
  NodeId intern_work();
  std::size_t bytes() const;

  const Problem& problem_;
  const Limits& limits_;
  StateTable states_;
  Kernels kernels_;
  std::vector<Groups> groups_;                 // of every distinct pattern
  std::vector<std::uint32_t> groups_of_move_;  // move → index into groups_
  std::vector<StateId> goal_state_;
  NodeId goal_node_ = kNoNode;
  std::uint32_t settled_ = 0;
  std::vector<StateId> states_of_nodes_;
  IdTable ids_;
  std::vector<Transition> transitions_;
  std::vector<std::pair<std::size_t, std::uint32_t>> offsets_;  // node → first transition, count
  std::vector<StateId> work_;
  std::vector<StateId> before_;
  std::vector<StateId> after_;
};

}  // namespace p2
