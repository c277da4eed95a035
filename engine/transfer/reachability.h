#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/base/limit_watch.h"
#include "engine/transfer/happens_before.h"
#include "p2/error.h"

namespace p2::transfer {

constexpr std::uint32_t kNoChain = std::numeric_limits<std::uint32_t>::max();

/// A partition of some events into chains: the events of one chain are totally ordered by the graph
/// in the order of their positions, which start at 1.
struct Chains {
  std::vector<std::uint32_t> chain;     ///< by event; kNoChain: on none
  std::vector<std::uint32_t> position;  ///< by event
  std::uint32_t count = 0;

  /// Appends an event to the end of a chain of `lengths.size()` chains.
  void append(Event event, std::uint32_t of, std::vector<std::uint32_t>& lengths) {
    chain[event] = of;
    position[event] = ++lengths[of];
  }
};

/// Which events precede which, by vector clocks over chains (Mattern, "Virtual time and global
/// states of distributed systems", 1989; chains: Agarwal and Garg, "Efficient dependency tracking
/// for relevant events in shared-memory systems", PODC 2005). Takes 4 bytes per event and chain.
class Reachability {
 public:
  /// Precondition: no cycle. Throws LimitReached.
  Reachability(const HappensBefore& graph, const Chains& chains, LimitWatch& watch)
      : chains_(chains), width_(chains.count) {
    if (graph.events() * width_ > kMaxEntries) {
      throw LimitReached(LimitReached::Kind::Size, "more than 2^30 entries of vector clocks");
    }
    watch.require_room(graph.events() * width_ * sizeof(std::uint32_t));
    clocks_.resize(graph.events() * width_);
    for (const Event event : graph.order()) {
      watch.step();
      std::uint32_t* const now = clocks_.data() + event * width_;
      for (const Predecessor& before : graph.predecessors(event)) {
        const std::uint32_t* const then = clocks_.data() + before.event * width_;
        for (std::size_t i = 0; i < width_; ++i) now[i] = std::max(now[i], then[i]);
      }
      if (chains.chain[event] != kNoChain) now[chains.chain[event]] = chains.position[event];
    }
  }

  /// Whether `first`, an event of a chain, precedes `second` or is the same.
  bool reaches(Event first, Event second) const {
    return clocks_[second * width_ + chains_.chain[first]] >= chains_.position[first];
  }

 private:
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 30U;

  const Chains& chains_;
  std::size_t width_;
  std::vector<std::uint32_t> clocks_;
};

}  // namespace p2::transfer
