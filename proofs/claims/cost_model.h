#pragma once

#include <cstdint>
#include <string_view>

#include "engine/cost/latency_bandwidth.h"
#include "engine/placement/device_grid.h"

namespace p2::claims {

/// The networks that claims about costs are asked for. In all of them a device has a port of its
/// own; latency is the same everywhere.
enum class CostModel : std::uint8_t {
  Homogeneous,  ///< nothing else: devices are alike
  TwoLevel,     ///< all devices of a node, an instance of the outermost level, share its NIC, on
                ///< which a byte takes ten times as long
  Tiered,       ///< so do the devices of an instance of every level, ten times slower at each step
                ///< outwards
};

/// `homogeneous`, `two-level`, `tiered`.
std::string_view to_string(CostModel model);

/// Levels of size 1 count for nothing. With one level left all networks are homogeneous.
LatencyBandwidth network_of(const Hierarchy& hierarchy, CostModel model);

}  // namespace p2::claims
