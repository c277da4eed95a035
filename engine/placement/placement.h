#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/topology/hierarchy.h"
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

}  // namespace p2
