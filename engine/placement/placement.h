#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/placement/axes.h"
#include "engine/topology/hierarchy.h"

namespace p2 {

/// A parallelism matrix (section 3.1): one row per axis, one column per hardware level.
/// `factors[i][j]` says into how many parts axis i is cut at level j. Column products are the level
/// sizes, row products the axis sizes.
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
