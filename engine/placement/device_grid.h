#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/placement/placement.h"
#include "engine/topology/hierarchy.h"

namespace p2 {

/// Devices of one group or class, ascending.
using Group = std::vector<std::uint32_t>;

/// A parallelism factor greater than 1: one digit of the device id, worth `stride`.
struct Factor {
  std::uint32_t axis = 0;
  std::uint32_t level = 0;
  std::uint32_t size = 1;
  std::uint32_t stride = 1;

  auto operator<=>(const Factor&) const = default;
};

/// A set of factors of a DeviceGrid: bit f stands for factors()[f]. A grid has at most 20 factors,
/// since it has at most 2^20 devices.
using FactorSet = std::uint32_t;

/// The ids of the devices whose digits outside `set` are all 0, ascending. `factors` are outermost
/// first.
std::vector<std::uint32_t> digit_sums(const std::vector<Factor>& factors, FactorSet set);

/// A placed system: the devices as points of a grid, one dimension per parallelism factor. Device
/// ids are row-major over the hardware levels and, inside one level, over that column's factors in
/// axis order (semantics: Device id). Factors of size 1 have no digit and are left out.
class DeviceGrid {
 public:
  /// The placement must have passed check_placement for this hierarchy and these axes.
  DeviceGrid(Hierarchy hierarchy, Axes axes, Placement placement);

  const Hierarchy& hierarchy() const { return hierarchy_; }
  const Axes& axes() const { return axes_; }
  const Placement& placement() const { return placement_; }
  std::uint32_t devices() const { return hierarchy_.devices(); }

  /// Outermost first, so that strides fall.
  const std::vector<Factor>& factors() const { return factors_; }
  FactorSet all_factors() const { return (FactorSet{1} << factors_.size()) - 1; }
  FactorSet factors_of(const ReductionAxes& axes) const;
  /// The factor of `axis` at `level` as a set: empty when it is 1.
  FactorSet factor_at(std::uint32_t axis, std::uint32_t level) const;

  std::uint32_t digit(std::uint32_t device, const Factor& factor) const {
    return device / factor.stride % factor.size;
  }
  /// The part of `axis` that `device` holds: its digits on that axis, outermost most significant.
  std::uint32_t coordinate(std::uint32_t device, std::uint32_t axis) const;

  /// One group per assignment of the factors outside `reduced` in which those of `pinned` are 0;
  /// its members take every value of the factors in `reduced`. Ordered by first device. The sets
  /// must be disjoint.
  std::vector<Group> groups(FactorSet reduced, FactorSet pinned) const;

 private:
  Hierarchy hierarchy_;
  Axes axes_;
  Placement placement_;
  std::vector<Factor> factors_;
};

/// The placement as in figure 2: every device as its coordinates along the axes (`1/3` = part 1
/// of the first axis, part 3 of the second), one line per instance of the levels above the two
/// innermost (above the innermost, where there are only two). Empty for systems with more than
/// `max_devices` devices.
std::string draw_placement(const DeviceGrid& grid, std::uint32_t max_devices = 64);

/// The parallelism matrix as a table with level and axis names.
std::string draw_matrix(const DeviceGrid& grid);

}  // namespace p2
