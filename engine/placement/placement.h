#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/topology/system.h"
#include "p2/error.h"

namespace p2 {

/// One form of parallelism, e.g. data parallelism of size 8.
struct Axis {
  std::string name;
  std::uint32_t size = 1;

  bool operator==(const Axis&) const = default;
};

/// The parallelism axes `P = [p0 … pm]` (section 2.1), in the user's order.
class Axes {
 public:
  Axes() = default;
  /// Throws InputError at `where` for no axis or more than 64, a size of 0, a name that is none, or
  /// two axes of one name.
  Axes(std::vector<Axis> axes, const SourcePosition& where);

  std::size_t count() const { return axes_.size(); }
  const Axis& operator[](std::size_t index) const { return axes_[index]; }
  auto begin() const { return axes_.begin(); }
  auto end() const { return axes_.end(); }

  bool operator==(const Axes&) const = default;

 private:
  std::vector<Axis> axes_;
};

/// The axes to reduce over: indices into Axes, ascending, each once. Order is irrelevant.
using ReductionAxes = std::vector<std::uint32_t>;

/// Parses `8,8` (axes are then named a0, a1, …) or `data=8,shard=8`.
Axes parse_axes(std::string_view source, std::string_view text);

/// Parses `0`, `0,2` or `data,shard`. Throws InputError for an unknown or repeated axis.
ReductionAxes parse_reduction(std::string_view source, std::string_view text, const Axes& axes);

/// The index of the axis called `name`; throws InputError at `where` when there is none.
std::uint32_t axis_index(const Axes& axes, std::string_view name, const SourcePosition& where);

/// `data=8,shard=8`: the inverse of parse_axes.
std::string to_string(const Axes& axes);

/// A parallelism matrix (section 3.1): one row per axis, one column per hardware level.
/// `factors[i][j]` is the number of parts into which level j cuts axis i. Column products are the
/// level sizes, row products the axis sizes.
struct Placement {
  std::vector<std::vector<std::uint32_t>> factors;

  bool operator==(const Placement&) const = default;
  auto operator<=>(const Placement&) const = default;
};

/// Throws InputError at `where`, naming the first row or column whose shape or product is wrong.
void check_placement(const Placement& placement, const Hierarchy& hierarchy, const Axes& axes,
                     const SourcePosition& where);

/// Parses `[[2,4],[2,4]]` (commas optional, as the paper prints matrices) and checks it.
Placement parse_placement(std::string_view source, std::string_view text,
                          const Hierarchy& hierarchy, const Axes& axes);

/// `[[2 4] [2 4]]`, as the paper prints matrices; parse_placement reads it back.
std::string to_string(const Placement& placement);

/// The first `most` parallelism matrices for hierarchy × axes, in ascending lexicographic order of
/// their rows. Throws InputError at `where` when the axes' product is not the number of devices.
std::vector<Placement> first_placements(const Hierarchy& hierarchy, const Axes& axes,
                                        const SourcePosition& where, std::size_t most);

/// All of them. Throws InputError at `where`, also when there are more than `most`.
std::vector<Placement> enumerate_placements(const Hierarchy& hierarchy, const Axes& axes,
                                            const SourcePosition& where,
                                            std::size_t most = 1'000'000);

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
/// axis order. Factors of size 1 have no digit and are left out.
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
