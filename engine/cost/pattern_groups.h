#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "engine/placement/device_grid.h"
#include "engine/program/instruction.h"

namespace p2 {

/// The groups of a pattern by the digits of device ids: every group is the first one, translated by
/// a choice of the free digits, those that are neither reduced nor pinned.
class PatternGroups {
 public:
  PatternGroups(const DeviceGrid& grid, const Pattern& pattern);

  /// The group whose free digits are all 0.
  Group first() const;
  /// All of them, as DeviceGrid::groups.
  std::vector<Group> all() const;

  /// The digits that are neither reduced nor pinned.
  FactorSet free() const { return free_; }

  /// Whether runs of so many consecutive devices end at a digit or divide one into equal parts.
  /// Then translations permute the runs: two devices are in one run, or so many runs apart, exactly
  /// if their translates are.
  bool respects_runs(std::uint32_t run) const;
  /// How many groups have a member in a run in which the first group has one. The runs must be
  /// respected.
  std::uint64_t groups_in_run(std::uint32_t run) const;

  auto operator<=>(const PatternGroups&) const = default;

 private:
  // Digits with axis and level 0, outermost first: patterns of several placements may be equal.
  std::vector<Factor> digits_;
  FactorSet reduced_ = 0;
  FactorSet free_ = 0;
};

}  // namespace p2
