#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/program/instance.h"

namespace p2::claims {

/// A system with its axes placed and the axes to reduce over chosen: an instance that has no
/// synthesis hierarchy yet.
struct PlacedSystem {
  DeviceGrid grid;
  ReductionAxes reduction;

  Instance over(HierarchyKind kind) const { return {grid, reduction, kind}; }
  /// Whether more than one axis greater than 1 is reduced over.
  bool several_axes() const;
};

/// Where the rows of the axes reduced over stand among those of all axes, which (c) keeps in axis
/// order; axes of size 1 do not count. `All` where no others are.
enum class RowOrder : std::uint8_t { First, Between, Last, All };
RowOrder row_order(const PlacedSystem& system);
/// `first`, `between`, `last`, `all`.
std::string_view to_string(RowOrder order);

/// Every placed system of 2 to `most` devices: all hierarchies, axes, placements and non-empty
/// reductions; fewest devices first, then fewest levels and axes, then in lexicographic order.
///
/// Levels and axes of size 1 are left out. They carry no factor greater than 1, so that no device
/// id, class or pattern changes when one is taken away: a form that names such a level gives the
/// groups that the level above it gives. What is settled without them is settled with them.
std::vector<PlacedSystem> placed_systems(std::uint32_t most);

/// `l0=2,l1=4  axes a0=4,a1=2  reduce a0  [[2 2] [1 2]]`.
std::string to_string(const PlacedSystem& system);

}  // namespace p2::claims
