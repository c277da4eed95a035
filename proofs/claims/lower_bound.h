#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/cost/latency_bandwidth.h"
#include "engine/program/derivation.h"

namespace p2::claims {

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
