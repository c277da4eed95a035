#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/collective/device_state.h"
#include "engine/collective/kernels.h"
#include "engine/program/goal.h"
#include "engine/program/instance.h"
#include "p2/limits.h"

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

/// One possible step: a collective on the groups of a pattern.
struct Move {
  Pattern pattern;
  Collective collective = Collective::AllReduce;

  auto operator<=>(const Move&) const = default;
};

/// The part of a synthesis question that determines its answer: the simulated device grid, the
/// number of chunks, the reduction factors, and the moves in search order. Equal problems with
/// equal terms have the same programs, move by move, so that each is searched once.
///
/// Where no move touches a factor outside the reduction axes ((d), collapsed, lattice), one
/// reduction class is simulated with the chunks of the whole system. This is exact: device ids
/// are mixed radix, so that fixing the other digits keeps the order inside a class; all classes
/// begin alike, and collectives treat contributors alike; every group lies inside one class, and
/// since nothing outside the reduction factors is reduced or pinned, every pattern forms the same
/// groups in each of them. Hence the classes' states stay equal up to the renaming of contributors.
struct Problem {
  std::vector<Factor> factors;     ///< simulated digits, outermost first; axis and level are left 0
  std::uint32_t devices = 1;       ///< simulated
  std::uint32_t contributors = 1;  ///< devices of the whole system
  Beginning beginning;
  FactorSet reduction = 0;
  std::vector<Move> moves;

  std::uint32_t chunks() const { return contributors * beginning.chunks_per_device; }
  auto operator<=>(const Problem&) const = default;
};

/// The problem of an instance, and the shape of the hierarchy that each move has.
struct NamedProblem {
  Problem problem;
  std::vector<GroupShape> shapes;       ///< of the instance's hierarchy
  std::vector<std::uint32_t> shape_of;  ///< move → index into `shapes`
};

/// The factors of an instance's grid that its problem simulates, and a set of these by digits of
/// the problem.
FactorSet simulated_factors(const Instance& instance);
FactorSet digits_of(FactorSet factors, FactorSet simulated);

/// Moves are ordered by shape (see all_shapes), then by collective.
NamedProblem make_problem(const Instance& instance, Dialect dialect,
                          const CollectiveSet& collectives = {}, const Beginning& beginning = {});

/// Progress counters of a synthesis; may be read from another thread.
struct SearchProgress {
  std::atomic<std::uint64_t> searches = 0;  ///< distinct problems to search
  std::atomic<std::uint64_t> searches_done = 0;
  std::atomic<std::uint64_t> states = 0;  ///< system states expanded, over all searches
};

/// Explicit-state breadth-first search: the states reachable by at most `size` legal moves, and the
/// transitions between them. Of the last layer only moves into the goal are kept. The order of
/// nodes and transitions depends only on the problem.
class StateGraph {
 public:
  /// Counts the states it expands in `progress`, if there is one.
  StateGraph(const Problem& problem, const Terms& terms, std::uint32_t size, const Limits& limits,
             SearchProgress* progress = nullptr);

  /// Its goal has no transitions. Programs up to `settled` are complete: up to `size`, or fewer
  /// when a limit was reached.
  const TransitionGraph& graph() const { return graph_; }

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
  /// False if a limit was reached; transitions found before it are kept.
  bool expand(NodeId node, bool last);
  bool run(const Groups& groups, Collective collective, NodeId node, bool last);
  /// The node of the state in `work_`, inserted if new.
  NodeId intern_work();
  bool over_limits() const;
  std::size_t bytes() const;

  const Problem& problem_;
  const Limits& limits_;
  StateTable states_;
  Kernels kernels_;
  std::vector<Groups> groups_;                 // of every distinct pattern
  std::vector<std::uint32_t> groups_of_move_;  // move → index into groups_
  std::vector<StateId> goal_state_;
  NodeId goal_node_ = kNoNode;
  std::vector<StateId> states_of_nodes_;
  IdTable ids_;
  TransitionGraph graph_;
  std::vector<StateId> work_;
  std::vector<StateId> before_;
  std::vector<StateId> after_;
};

}  // namespace p2
