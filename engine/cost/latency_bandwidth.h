#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/rational.h"
#include "engine/collective/collective.h"
#include "engine/placement/placement.h"

namespace p2 {

/// A time linear in the latency α of a message and the time β that one device's whole buffer takes
/// over the fastest link: rounds·α + bytes·β. Bytes are counted in buffers.
struct Charge {
  std::int64_t rounds = 0;
  Rational bytes = 0;

  bool operator==(const Charge&) const = default;
};

/// An exact time as a function of all α, β ≥ 0: the maximum of charges (an upper envelope of
/// lines). Dominated charges are removed, so equal functions are equal values.
class Cost {
 public:
  /// α : β, not both 0.
  struct Ratio {
    Rational alpha = 0;
    Rational beta = 0;

    bool operator==(const Ratio&) const = default;
  };

  Cost() = default;
  explicit Cost(std::vector<Charge> greatest_of);

  /// Bytes ascend, rounds descend.
  const std::vector<Charge>& charges() const { return charges_; }
  Rational at(const Ratio& ratio) const;
  /// Whether this is at most `other` for all α and β.
  bool at_most(const Cost& other) const;

  /// The time of both in sequence.
  friend Cost operator+(const Cost& a, const Cost& b);
  /// The α : β at which two consecutive charges are equal.
  std::vector<Ratio> bends() const;
  bool operator==(const Cost&) const = default;

 private:
  std::vector<Charge> charges_ = {Charge{}};
};

/// The minimum of costs as a function of α : β (a lower envelope).
class CostFront {
 public:
  /// No effect if `cost` is nowhere below the minimum.
  void add(const Cost& cost);
  /// The costs that attain the minimum somewhere.
  const std::vector<Cost>& costs() const { return costs_; }
  /// α = 0, β = 0 and every breakpoint of the minimum: between them it is linear.
  const std::vector<Cost::Ratio>& ratios() const { return ratios_; }
  /// Nothing without costs.
  std::optional<Rational> at(const Cost::Ratio& ratio) const;

  /// The α : β, of ratios() and the bends of `cost`, at which `cost` is the smallest fraction of
  /// the minimum; nothing if it is nowhere below it. α = 0 without costs.
  std::optional<Cost::Ratio> undercut_by(const Cost& cost) const;

 private:
  std::vector<Cost> costs_;
  std::vector<Cost::Ratio> ratios_ = {{0, 1}, {1, 0}};
};

/// `4α + 3/2β`, or where there are several charges `max(6α + 3/2β, 4α + 2β)`.
std::string to_string(const Cost& cost);
/// `α = 0`, `α:β = 1:3` and so on.
std::string to_string(const Cost::Ratio& ratio);

/// Links of one kind: every run of `span` consecutive devices shares one link to the rest, on which
/// a byte takes `slowdown` times as long as on a device's own port.
struct Uplink {
  std::uint32_t span = 1;
  std::uint32_t slowdown = 1;
};

/// The latency-bandwidth model (Hockney 1994) of the algorithms in Thakur, Rabenseifner, Gropp,
/// Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005, without the
/// time of additions. n devices; m: the part of the buffer that each holds (Broadcast: the root):
///
/// | collective | algorithm | rounds | bytes through a device |
/// |---|---|---|---|
/// | AllReduce | ring: ReduceScatter, then AllGather | 2(n−1) | 2(n−1)/n·m |
/// | ReduceScatter | ring | n−1 | (n−1)/n·m |
/// | AllGather | ring | n−1 | (n−1)·m |
/// | Reduce, Broadcast | binomial tree | ⌈log2 n⌉ | ⌈log2 n⌉·m |
///
/// A group of one device costs nothing. Without uplinks the network is homogeneous. The bytes of a
/// group with devices inside and outside a run go through the link of that run; groups of one step
/// that share a link add up their bytes.
class LatencyBandwidth {
 public:
  explicit LatencyBandwidth(std::vector<Uplink> uplinks = {}) : uplinks_(std::move(uplinks)) {}

  const std::vector<Uplink>& uplinks() const { return uplinks_; }

  /// The time of the slowest group of a step: its rounds, and the bytes of the slowest link that it
  /// uses. `held[i]` is how many of `chunks` the first device of groups[i]
  /// holds before the step; there are as many devices as chunks.
  Cost of_step(Collective collective, const std::vector<Group>& groups,
               std::span<const std::uint32_t> held, std::uint32_t chunks) const;

 private:
  std::vector<Uplink> uplinks_;
};

/// The charge of a group of n devices, each with `held` of `chunks`, on a homogeneous network.
Charge charge_of(Collective collective, std::size_t n, std::uint32_t held, std::uint32_t chunks);

}  // namespace p2
