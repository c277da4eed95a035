#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/cost/latency_bandwidth.h"
#include "engine/program/derivation.h"
#include "proofs/claims/contributors.h"

namespace p2::claims {

/// What programs cost at least from a state to the goal, for searches over arbitrary groups; the
/// bounds of docs/certificates.md (the claim `cheapest`), with their reasons:
///  - in every step what one device at most has of a chunk of a class, and what all have of it
///    together, grow at most so many times as the rounds can double them;
///  - every contribution that is united, and every chunk that is finished, takes a group's bytes of
///    one device, and two rounds of one device;
///  - what the devices on one side of a link lack of a class they get over that link.
class LeastLeft {
 public:
  /// Table and network must outlive it. At most 64 devices, as many as chunks.
  LeastLeft(const StateTable& states, const std::vector<Group>& classes,
            const LatencyBandwidth& network);

  /// Nothing where no steps lead from `state` to the goal; 0 at the goal.
  std::optional<Cost> operator()(const SystemState& state);

 private:
  /// The devices of a run of an uplink.
  struct Link {
    Contributors devices = 0;
    std::uint32_t slowdown = 1;
  };
  struct Left {
    std::int64_t rounds = 0;
    std::int64_t volume = 0;
    std::vector<std::int64_t> flows = {};  ///< by link
  };

  bool add(const SystemState& state, std::uint32_t chunk, Contributors wanted, Left& left);

  ContributorTable held_;
  std::vector<Contributors> classes_;
  std::vector<Link> links_;
  std::vector<Contributors> pure_;  ///< by device
};

}  // namespace p2::claims
