#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// The axes to reduce over: indices into Axes, ascending, each once. A set: `2,0` and `0,2` ask the
/// same.
using ReductionAxes = std::vector<std::uint32_t>;

/// Parses `8,8` (axes are then named a0, a1, …) or `data=8,shard=8`.
Axes parse_axes(std::string_view source, std::string_view text);

/// Parses `0`, `0,2` or `data,shard`. Throws InputError for an axis that does not exist or stands
/// there twice.
ReductionAxes parse_reduction(std::string_view source, std::string_view text, const Axes& axes);

/// The index of the axis called `name`; throws InputError at `where` when there is none.
std::uint32_t axis_index(const Axes& axes, std::string_view name, const SourcePosition& where);

/// `data=8,shard=8`: the inverse of parse_axes.
std::string to_string(const Axes& axes);

}  // namespace p2
