#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/strategy/operation.h"
#include "engine/placement/device_grid.h"
#include "engine/topology/system.h"

namespace p2::operations {

/// The machine as a system: a switch at every level, whose ports carry what all devices behind them
/// may send. Throws InputError where its levels have no names that a hierarchy may have.
System system_of(const Machine& machine, const std::string& source);

/// A configuration with a place for every part: the axes are the dimensions that are split, in
/// order, and last the copies where fewer parts than devices are asked for.
struct PlacedConfiguration {
  Configuration configuration;
  DeviceGrid grid;
  std::vector<std::optional<std::uint32_t>> axis_of;  ///< by dimension

  /// Which part along a dimension a device has.
  std::uint32_t part(std::uint32_t device, std::size_t dimension) const {
    return axis_of[dimension] ? grid.coordinate(device, *axis_of[dimension]) : 0;
  }
  /// The devices that add something up together which lacks these dimensions.
  ReductionAxes axes_of(const std::vector<std::size_t>& dimensions) const;
};

/// All configurations whose number of parts divides that of the devices, each in all placements on
/// the hierarchy. Throws std::invalid_argument where there are more than 2^12.
std::vector<PlacedConfiguration> placed_configurations(const Operation& operation,
                                                       const Hierarchy& hierarchy);

/// `b/4 n/2 [[2 2] [1 2]]`: the placement is left out where there is one device or one part.
std::string to_string(const PlacedConfiguration& placed, const Operation& operation);

}  // namespace p2::operations
