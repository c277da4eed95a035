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
  /// The link with the largest load, and the time that its bytes alone take.
  LinkId busiest = 0;
  double busy_seconds = 0;
};

/// Simulates a valid plan on a system as fluid flows. A transfer begins when both of its devices
/// have reached its step; after the latency of its route its bytes flow over all links of the route
/// at once. Transfers that share a link share its bandwidth max-min fairly. Copies inside a device
/// take no time. `devices` maps the plan's devices to the system's. Doubles: a physical model,
/// never compared exactly.
SimulatedTime simulated_time(const Plan& plan, const Network& network,
                             const std::vector<std::uint32_t>& devices,
                             std::int64_t bytes_per_element);

}  // namespace p2::reshard
