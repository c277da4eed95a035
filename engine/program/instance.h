#pragma once

#include <optional>

#include "engine/program/goal.h"
#include "engine/program/instruction.h"
#include "engine/program/synthesis_hierarchy.h"

namespace p2 {

/// One placed reduction: who stands where, which axes are reduced over, and the hierarchy over
/// which instructions are formed.
struct Instance {
  DeviceGrid grid;
  ReductionAxes reduction;
  SynthesisHierarchy hierarchy;

  Instance(DeviceGrid placed, ReductionAxes axes, HierarchyKind kind)
      : grid(std::move(placed)), reduction(std::move(axes)), hierarchy(kind, grid, reduction) {}

  /// The reduction classes: devices that agree on every factor outside the reduction axes.
  std::vector<Group> classes() const { return grid.groups(grid.factors_of(reduction), 0); }
};

/// What a command line or a program file has said about an instance so far.
struct GivenInstance {
  std::optional<Hierarchy> hierarchy;
  std::optional<Axes> axes;
  std::optional<ReductionAxes> reduction;
  std::optional<Placement> placement;
  HierarchyKind kind = HierarchyKind::Collapsed;
  Dialect dialect = Dialect::Published;
  bool dialect_goes_first = false;  ///< asked for by the user: goes before what a file names
  Terms terms = {};
  bool goal_goes_first = false;  ///< likewise

  /// The instance, when hierarchy, axes and reduction are all known and the placement is known or
  /// the only one there is. Throws InputError at `where` when several placements are possible or
  /// what was said does not fit together.
  std::optional<Instance> resolve(const SourcePosition& where) const;
  /// Whether anything is said of a system, its axes or their placement.
  bool speaks_of_system() const { return hierarchy || axes || reduction || placement; }
  /// The same without system, axes, reduction and placement: for files of bare groups.
  GivenInstance without_system() const;
};

}  // namespace p2
