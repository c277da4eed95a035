#include "engine/cost/latency_bandwidth.h"

#include <algorithm>
#include <bit>

namespace p2 {
namespace {

bool some_inside(const Group& group, const Uplink& uplink, std::uint32_t run) {
  return std::any_of(group.begin(), group.end(),
                     [&](std::uint32_t device) { return device / uplink.span == run; });
}

/// Whether the group has bytes on the link of this run.
bool leaves(const Group& group, const Uplink& uplink, std::uint32_t run) {
  const bool all_inside = std::all_of(group.begin(), group.end(), [&](std::uint32_t device) {
    return device / uplink.span == run;
  });
  return !all_inside && some_inside(group, uplink, run);
}

}  // namespace

Charge charge_of(Collective collective, std::size_t n, std::uint32_t held, std::uint32_t chunks) {
  const auto others = static_cast<std::int64_t>(n) - 1;
  const Fraction part(held, chunks);
  switch (collective) {
    case Collective::AllReduce:
      return {2 * others, part * Fraction(2 * others, others + 1)};
    case Collective::ReduceScatter:
      return {others, part * Fraction(others, others + 1)};
    case Collective::AllGather:
      return {others, part * others};
    case Collective::Reduce:
    case Collective::Broadcast:
      break;
  }
  const auto depth = static_cast<std::int64_t>(std::bit_width(n - 1));
  return {depth, part * depth};
}

Cost LatencyBandwidth::of_step(Collective collective, const std::vector<Group>& groups,
                               std::span<const std::uint32_t> held, std::uint32_t chunks) const {
  std::vector<Charge> charges;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    charges.push_back(charge_of(collective, groups[i].size(), held[i], chunks));
  }
  std::vector<Charge> slowest = charges;
  for (const Uplink& uplink : uplinks_) {
    // A link is used by a group only if one of its devices is in its run.
    for (std::uint32_t run = 0; run * uplink.span < chunks; ++run) {
      Fraction load = 0;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (leaves(groups[i], uplink, run)) load = load + charges[i].bytes;
      }
      load = load * uplink.slowdown;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (leaves(groups[i], uplink, run)) slowest[i].bytes = std::max(slowest[i].bytes, load);
      }
    }
  }
  return Cost(std::move(slowest));
}

}  // namespace p2
