#pragma once

#include "engine/cost/network.h"
#include "engine/reshard/plans/plan.h"

namespace p2::reshard {

/// The device of the system for every device of a plan: host h is node h, and the devices of a host
/// are the first of its node. Throws InputError, naming `source`, where the system has fewer nodes
/// or devices in a node.
std::vector<std::uint32_t> devices_on(const Network& network, const Reshard& problem,
                                      std::string_view source);

struct SimulatedTime {
  double seconds = 0;  ///< until the last transfer ends
  /// Of all links the one that was busy the most, and how long it would be with nothing to wait
  /// for.
  LinkId busiest = 0;
  double busy_seconds = 0;
};

/// How long a plan without a fault takes on a system. A transfer begins when both of its devices
/// have come to their steps, and after the latency of its route its bytes flow over all links of
/// the route at once. Transfers that share a link share its bandwidth: none gets less than another
/// that could do with less (max-min fairness). Copies inside a device take no time. `devices` says
/// where the plan's devices are on the system. In doubles: a model of physics, not a cost to be
/// compared exactly.
SimulatedTime simulated_time(const Plan& plan, const Network& network,
                             const std::vector<std::uint32_t>& devices,
                             std::int64_t bytes_per_element);

}  // namespace p2::reshard
