#pragma once

#include <string>

#include "engine/placement/device_grid.h"

namespace p2 {

/// Who holds what, as in figure 2: every device as its coordinates along the axes (`1/3` = part 1
/// of the first axis, part 3 of the second), one line per instance of the levels above the two
/// innermost (above the innermost, where there are only two). Empty for systems with more than
/// `most_devices` devices.
std::string draw_placement(const DeviceGrid& grid, std::uint32_t most_devices = 64);

/// The parallelism matrix as a table with level and axis names.
std::string draw_matrix(const DeviceGrid& grid);

}  // namespace p2
