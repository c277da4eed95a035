#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/collective/kernels.h"
#include "engine/cost/latency_bandwidth.h"
#include "engine/program/derivation.h"

/// What searches over all states of a system share: the simulation of programs, the breadth-first
/// tree, and lower bounds on the cost that is left.
namespace p2::claims {

/// Runs collectives on a system with the kernels of engine/collective. A step in which some group
/// holds nothing is not legal, in both dialects and for bare groups too.
class Simulator {
 public:
  Simulator(std::uint32_t devices, const std::vector<Group>& classes);

  const SystemState& initial() const { return initial_; }
  const SystemState& goal() const { return goal_; }
  const StateTable& states() const { return *states_; }
  std::uint32_t chunks_held(StateId device) const {
    return states_->sets().size(states_->held(device));
  }
  /// False, with `state` unspecified, if the step is not legal.
  bool run(Collective collective, const std::vector<Group>& groups, SystemState& state);
  /// Contributions held, over all chunks of all devices.
  std::uint64_t contributions(const SystemState& state) const;
  /// Chunks held, over all devices.
  std::uint64_t chunks(const SystemState& state) const;

 private:
  std::unique_ptr<StateTable> states_;
  Kernels kernels_;
  SystemState initial_;
  SystemState goal_;
  std::vector<StateId> before_;
  std::vector<StateId> after_;
};

/// The tree of a breadth-first search over states. When moves are tried in ascending order, the
/// path to every node is the lexicographically first of the shortest.
class BreadthFirstTree {
 public:
  using Key = std::vector<std::uint32_t>;

  explicit BreadthFirstTree(const Key& initial) { add(initial, {0, 0, 0}); }

  std::size_t nodes() const { return entries_.size(); }
  const Key& key(std::size_t node) const { return entries_[node].first->first; }
  std::uint32_t depth(std::size_t node) const { return entries_[node].second.depth; }
  /// Adds the state that `move` leads to from `node`, unless it is known.
  void reach(std::size_t node, std::uint32_t move, const Key& key) {
    add(key, {node, move, depth(node) + 1});
  }
  /// The moves from the initial node to this one.
  std::vector<std::uint32_t> path(std::size_t node) const {
    std::vector<std::uint32_t> moves(depth(node));
    for (std::size_t i = moves.size(); i-- > 0; node = entries_[node].second.parent) {
      moves[i] = entries_[node].second.move;
    }
    return moves;
  }
  std::size_t bytes() const {
    return entries_.size() *
           (2 * entries_.front().first->first.size() * sizeof(std::uint32_t) + 128);
  }

 private:
  struct Edge {
    std::size_t parent;
    std::uint32_t move;
    std::uint32_t depth;
  };

  void add(const Key& key, Edge edge) {
    const auto [place, is_new] = known_.emplace(key, entries_.size());
    if (is_new) entries_.emplace_back(place, edge);
  }

  std::map<Key, std::size_t> known_;
  std::vector<std::pair<std::map<Key, std::size_t>::const_iterator, Edge>> entries_;
};

using Contributors = std::uint64_t;  ///< a set of contributions; bit d: that of device d

/// The contributors of each class. Devices are below 64.
std::vector<Contributors> contributors_of(const std::vector<Group>& classes);

/// The contributions that devices hold, decoded from a table of states once for each state.
class ContributorTable {
 public:
  /// `states` must outlive it. At most 64 devices, as many as chunks.
  explicit ContributorTable(const StateTable& states);

  std::uint32_t chunks() const { return states_.chunks(); }
  /// Of every chunk the contributions that a device in this state holds; valid until the next call.
  const std::vector<Contributors>& by_chunk(StateId state);

 private:
  const StateTable& states_;
  std::vector<std::vector<Contributors>> known_;  ///< by state, then chunk; empty where not known
};

/// The size of a minimum exact cover of `wanted` by `sets`; nothing if there is none.
std::optional<std::uint32_t> min_exact_cover(Contributors wanted,
                                             std::span<const Contributors> sets);

/// A necessary condition for reaching the goal, over arbitrary groups.
///
/// What a device holds of a chunk after a step is a disjoint union of what devices held of it
/// before, each at most once. So what it holds at the goal, its class, is a disjoint union of what
/// distinct devices hold now: where some class has no exact cover by the present contents of a
/// chunk, no sequence of steps reaches the goal.
class GoalReachability {
 public:
  /// `states` must outlive it. At most 64 devices, as many as chunks.
  GoalReachability(const StateTable& states, const std::vector<Group>& classes);

  /// False only if the goal cannot be reached from `state`.
  bool operator()(const SystemState& state);

 private:
  ContributorTable held_;
  std::vector<Contributors> classes_;
  std::vector<Contributors> pure_;
};

/// A lower bound on the cost of all programs from a state to the goal, over arbitrary groups:
/// docs/certificates.md, the claim `cheapest`, has the proofs.
///  - Rounds: in a round the largest part of a chunk of a class that a device holds, and the sum
///  over
///    all devices, at most double.
///  - Volume: every union of contributions and every completed chunk costs a device the bytes of a
///    group and two rounds.
///  - Links: what the devices on one side of a link lack of a class crosses that link.
class CostLowerBound {
 public:
  /// `states` must outlive it. At most 64 devices, as many as chunks.
  CostLowerBound(const StateTable& states, const std::vector<Group>& classes,
                 const LatencyBandwidth& network);

  /// Nothing if the goal cannot be reached from `state`; 0 at the goal.
  std::optional<Cost> operator()(const SystemState& state);

 private:
  /// The devices of a run of an uplink.
  struct Link {
    Contributors devices = 0;
    std::uint32_t slowdown = 1;
  };
  struct Remaining {
    std::int64_t rounds = 0;
    std::int64_t volume = 0;
    std::vector<std::int64_t> flows = {};  ///< by link
  };

  bool add(const SystemState& state, std::uint32_t chunk, Contributors wanted,
           Remaining& remaining);

  ContributorTable held_;
  std::vector<Contributors> classes_;
  std::vector<Link> links_;
  std::vector<Contributors> pure_;  ///< by device
};

}  // namespace p2::claims
