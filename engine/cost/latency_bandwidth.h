#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/collective/collective.h"
#include "engine/cost/linear_cost.h"
#include "engine/placement/device_grid.h"

namespace p2 {

/// Links of one kind: every run of `span` consecutive devices leaves through one link, on which a
/// byte takes `slowdown` times as long as on a device's own port.
struct Uplink {
  std::uint32_t span = 1;
  std::uint32_t slowdown = 1;
};

/// The latency-bandwidth model (Hockney 1994) of the algorithms in Thakur, Rabenseifner, Gropp,
/// Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005, without the
/// time of additions. n devices, m the part of the buffer that each holds (Broadcast: the root):
///
/// | collective | algorithm | rounds | bytes through a device |
/// |---|---|---|---|
/// | AllReduce | ring: ReduceScatter, then AllGather | 2(n−1) | 2(n−1)/n·m |
/// | ReduceScatter | ring | n−1 | (n−1)/n·m |
/// | AllGather | ring | n−1 | (n−1)·m |
/// | Reduce, Broadcast | binomial tree | ⌈log2 n⌉ | ⌈log2 n⌉·m |
///
/// A group of one device costs nothing. Without uplinks the network is homogeneous. A group with
/// devices inside and outside a run of an uplink has its bytes go through that run's link; groups
/// of one step share the link, and its bytes are those of all of them.
class LatencyBandwidth {
 public:
  explicit LatencyBandwidth(std::vector<Uplink> uplinks = {}) : uplinks_(std::move(uplinks)) {}

  const std::vector<Uplink>& uplinks() const { return uplinks_; }

  /// A step takes as long as the slowest of its groups: of each, its rounds and the bytes of the
  /// slowest link that it uses. `held[i]` is how many of `chunks` the first device of groups[i]
  /// holds before the step; there are as many devices as chunks.
  Cost of_step(Collective collective, const std::vector<Group>& groups,
               std::span<const std::uint32_t> held, std::uint32_t chunks) const;

 private:
  std::vector<Uplink> uplinks_;
};

/// What a group of n devices, each holding `held` of `chunks`, is charged on a homogeneous network.
Charge charge_of(Collective collective, std::size_t n, std::uint32_t held, std::uint32_t chunks);

}  // namespace p2
