#pragma once

#include "engine/program/instance.h"

namespace p2 {

/// An instance from the notations of the command line.
inline Instance instance_of(const char* hierarchy, const char* axes, const char* reduce,
                            const char* placement, HierarchyKind kind = HierarchyKind::Collapsed) {
  const Hierarchy levels = parse_hierarchy("hierarchy", hierarchy);
  const Axes named = parse_axes("axes", axes);
  return {DeviceGrid(levels, named, parse_placement("placement", placement, levels, named)),
          parse_reduction("reduce", reduce, named), kind};
}

}  // namespace p2
