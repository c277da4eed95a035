#include "encodings/z3/lowering.h"

#include <doctest/doctest.h>

#include "engine/program/program.h"
#include "tests/program/instances.h"
#include "tests/synthesis/all_instances.h"
#include "tests/synthesis/appendix.h"

using namespace p2;

namespace {

/// Every shape of the instance: the groups that the solver reads off the formulas are those of the
/// engine's lowering, and so are the classes.
std::size_t compare(const Instance& instance) {
  z3::context context;
  const z3_encoding::Lowering lowering(context, instance);
  CHECK(lowering.classes() == instance.classes());
  const std::vector<GroupShape> shapes = all_shapes(instance.hierarchy);
  for (const GroupShape& shape : shapes) {
    const z3_encoding::Formed formed = lowering.form(shape);
    const bool equal = formed.groups == lower(instance.grid, shape, Collective::AllReduce).groups;
    CHECK_MESSAGE(equal, to_string(instance.hierarchy), " ", to_string(instance.grid.placement()),
                  " ", to_string(shape, instance.hierarchy));
    CHECK(formed.everyone == (shape.pattern.pinned == 0));
  }
  return shapes.size();
}

/// Proves, for all slices, forms, levels and devices at once, what reading groups off leaders and
/// positions rests on: that devices are in one group exactly if they have the same leader, that the
/// leader stands at position 0, and that positions rise with device ids.
void prove_groups(const Instance& instance) {
  z3::context context;
  const z3_encoding::Formation formation(context, instance);
  const z3::sort device = formation.device(0).get_sort();
  const z3::expr d = context.constant("d", device);
  const z3::expr e = context.constant("e", device);
  const z3::expr same = formation.same_group(d, e);
  const z3::expr both = formation.takes_part(d) && formation.takes_part(e);
  const z3::expr first = formation.leader(d);
  z3::solver solver(context);
  solver.add(formation.well_formed() && formation.exists(d) && formation.exists(e));
  solver.add(!(
      (same == (both && first == formation.leader(e))) &&
      z3::implies(formation.takes_part(d), formation.same_group(d, first) &&
                                               formation.position(first) == formation.device(0)) &&
      z3::implies(same, z3::ult(d, e) == z3::ult(formation.position(d), formation.position(e)))));
  CHECK_MESSAGE(solver.check() == z3::unsat, to_string(instance.hierarchy));
}

}  // namespace

TEST_CASE("the solver forms the groups of the lowering: all systems of at most 8 devices") {
  std::size_t shapes = 0;
  for (std::uint32_t devices = 2; devices <= 8; ++devices) {
    for_each_instance(devices, [&](const Hierarchy& hierarchy, const Axes& axes,
                                   const ReductionAxes& reduction, const Placement& placement) {
      for (const HierarchyKind kind : kHierarchyKinds) {
        shapes += compare({DeviceGrid(hierarchy, axes, placement), reduction, kind});
      }
    });
  }
  CHECK(shapes > 1000);
}

TEST_CASE("the solver forms the groups of the lowering: the paper's systems of 64 devices") {
  for (const AppendixRow& row : kAppendix) {
    const Hierarchy hierarchy = parse_hierarchy("h", row.hierarchy);
    if (hierarchy.devices() != 64) continue;
    const Axes axes = parse_axes("a", row.axes);
    for (const Placement& placement : enumerate_placements(hierarchy, axes, {"a"})) {
      for (const HierarchyKind kind : kHierarchyKinds) {
        compare(
            {DeviceGrid(hierarchy, axes, placement), parse_reduction("r", row.reduce, axes), kind});
      }
    }
  }
}

TEST_CASE("leaders and positions mean groups, for all slices, forms, levels and devices") {
  for (const HierarchyKind kind : kHierarchyKinds) {
    prove_groups(instance_of("2,2", "2,2", "0", "[[2 1] [1 2]]", kind));
    prove_groups(instance_of("2,4", "4,2", "0", "[[2 2] [1 2]]", kind));
    prove_groups(instance_of("3,2", "2,3", "1", "[[1 2] [3 1]]", kind));
  }
}
