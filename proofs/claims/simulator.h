#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/collective/kernels.h"
#include "engine/program/derivation.h"

/// Simulation of programs for searches over all states of a system.
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

}  // namespace p2::claims
