#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/program/state_graph.h"

namespace p2 {

/// The valid programs of a problem up to a size, as paths of its StateGraph from the initial state
/// to the goal. Kept as the graph cut down to what lies on such paths, so that counting them does
/// not list them. Where a limit was met, only programs up to `settled` are counted and listed.
class ProgramList {
 public:
  ProgramList(const Problem& problem, std::uint32_t size, const Limits& limits,
              SearchProgress* progress = nullptr, const Terms& terms = {});

  /// Programs up to this size are all here.
  std::uint32_t settled() const { return settled_; }
  std::uint64_t count() const { return count_; }
  /// System states met on the way, for reports.
  std::size_t states() const { return states_; }

  /// Calls `visit` with the moves of every program: by increasing size, then in lexicographic order
  /// of the problem's moves.
  using Visit = std::function<void(std::span<const std::uint32_t> moves)>;
  void for_each(const Visit& visit) const;

  /// The moves of the first program, in the order of for_each, in which a move m with `wanted[m]`
  /// occurs. Found without listing the programs before it.
  std::optional<std::vector<std::uint32_t>> first_with(const std::vector<bool>& wanted) const;

 private:
  void cut_down(const StateGraph& graph);
  void count_paths();
  void walk(NodeId node, std::uint32_t left, std::vector<std::uint32_t>& moves,
            const Visit& visit) const;
  /// [left][node]: whether a path of exactly `left` moves has a wanted one.
  std::vector<bool> paths_with(const std::vector<bool>& wanted) const;
  std::uint64_t paths(NodeId node, std::uint32_t left) const {
    return paths_[std::size_t{left} * nodes_.size() + node];
  }

  std::uint32_t settled_ = 0;
  std::uint64_t count_ = 0;
  std::size_t states_ = 0;
  bool reached_ = false;
  NodeId goal_ = 0;
  std::vector<std::vector<Transition>> nodes_;  // useful transitions; node 0 is initial
  std::vector<std::uint64_t> paths_;            // [left][node]: paths of exactly `left` moves
};

}  // namespace p2
