#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/program/goal.h"
#include "engine/program/instruction.h"
#include "engine/topology/system.h"
#include "p2/instance.h"

namespace p2 {

/// A reduction on a placed system: the device grid, the reduction axes, and the hierarchy over
/// which instructions are formed.
struct Instance {
  DeviceGrid grid;
  ReductionAxes reduction;
  SynthesisHierarchy hierarchy;

  Instance(DeviceGrid placed, ReductionAxes axes, HierarchyKind kind)
      : grid(std::move(placed)), reduction(std::move(axes)), hierarchy(kind, grid, reduction) {}

  /// The reduction classes: devices that agree on every factor outside the reduction axes.
  std::vector<Group> classes() const { return grid.groups(grid.factors_of(reduction), 0); }
  std::uint64_t class_size() const {
    std::uint64_t size = 1;
    for (const std::uint32_t axis : reduction) size *= grid.axes()[axis].size;
    return size;
  }
};

/// The known parts of an instance, from the command line and then a program file.
struct GivenInstance {
  std::optional<Hierarchy> hierarchy;
  std::optional<Axes> axes;
  std::optional<ReductionAxes> reduction;
  std::optional<Placement> placement;
  HierarchyKind kind = HierarchyKind::Collapsed;
  Dialect dialect = Dialect::Published;
  bool dialect_overrides_file = false;  ///< given by the user: takes precedence over a file
  Terms terms = {};
  bool goal_overrides_file = false;  ///< likewise

  /// The instance, when hierarchy, axes and reduction are all known and the placement is known or
  /// the only one there is. Throws InputError at `where` if several placements are possible or
  /// the parts contradict each other.
  std::optional<Instance> resolve(const SourcePosition& where) const;
  /// Whether a system, axes or a placement is given.
  bool names_system() const { return hierarchy || axes || reduction || placement; }
  /// The same without system, axes, reduction and placement: for files of bare groups.
  GivenInstance without_system() const;
};

/// The system that `spec.hierarchy` or `spec.system` names; the former has no interconnects. Throws
/// InputError unless exactly one of the two is present, and where it is malformed or cannot be
/// read.
System system_of(const InstanceSpec& spec);

/// Parses a spec except for its terms (`collectives`, `goal`), whose definitions are examined by
/// proofs/api. Absent members stay absent. Throws InputError at `--hierarchy`, `--axes`, … where
/// one is malformed or contradicts another.
GivenInstance given_instance(const InstanceSpec& spec);

/// Throws InputError unless hierarchy, axes and, with `with_reduction`, reduction are present.
void require_system(const GivenInstance& given, bool with_reduction);

/// The given placement, or all of them. Throws InputError when there are more than `max_count`.
/// Hierarchy and axes must be present.
std::vector<Placement> placements_of(const GivenInstance& given, std::size_t max_count);

}  // namespace p2
