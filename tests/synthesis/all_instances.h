#pragma once

#include <vector>

#include "engine/program/instance.h"
#include "tests/program/instances.h"

namespace p2 {

/// Calls `visit(hierarchy, axes, reduction, placement)` for all systems of exactly `devices`
/// devices with levels greater than 1, one to three axes greater than 1, every placement and every
/// non-empty reduction.
template <typename Visit>
void for_each_instance(std::uint32_t devices, Visit visit) {
  std::vector<std::vector<std::uint32_t>> products;
  std::vector<std::uint32_t> prefix;
  const auto factor = [&](const auto& self, std::uint32_t rest) -> void {
    if (rest == 1) {
      products.push_back(prefix);
      return;
    }
    for (std::uint32_t part = 2; part <= rest; ++part) {
      if (rest % part != 0) continue;
      prefix.push_back(part);
      self(self, rest / part);
      prefix.pop_back();
    }
  };
  factor(factor, devices);
  for (const auto& sizes : products) {
    std::vector<Level> levels;
    for (const std::uint32_t size : sizes)
      levels.push_back({"l" + std::to_string(levels.size()), size});
    const Hierarchy hierarchy(levels, {"all instances"});
    for (const auto& axis_sizes : products) {
      if (axis_sizes.size() > 3) continue;
      std::vector<Axis> axes;
      for (const std::uint32_t size : axis_sizes)
        axes.push_back({"a" + std::to_string(axes.size()), size});
      const Axes named(axes, {"all instances"});
      for (const Placement& placement : enumerate_placements(hierarchy, named, {"all instances"})) {
        for (std::uint32_t chosen = 1; chosen < 1U << axes.size(); ++chosen) {
          ReductionAxes reduction;
          for (std::uint32_t a = 0; a < axes.size(); ++a) {
            if ((chosen >> a & 1U) != 0) reduction.push_back(a);
          }
          visit(hierarchy, named, reduction, placement);
        }
      }
    }
  }
}

/// Calls `visit(instance, dialect)` for each of these systems, over every kind of synthesis
/// hierarchy and in both dialects.
template <typename Visit>
void for_each_question(std::uint32_t devices, Visit visit) {
  for_each_instance(devices, [&](const Hierarchy& hierarchy, const Axes& axes,
                                 const ReductionAxes& reduction, const Placement& placement) {
    for (const HierarchyKind kind : kHierarchyKinds) {
      const Instance instance(DeviceGrid(hierarchy, axes, placement), reduction, kind);
      for (const Dialect dialect : {Dialect::Printed, Dialect::Published}) {
        visit(instance, dialect);
      }
    }
  });
}

}  // namespace p2
