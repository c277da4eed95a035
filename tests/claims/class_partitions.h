#pragma once

#include <cstdint>
#include <vector>

#include "engine/placement/device_grid.h"

namespace p2 {

/// All partitions of the devices from `device` on, added to `classes`.
inline void append_partitions(std::uint32_t device, std::uint32_t devices,
                              std::vector<Group>& classes, std::vector<std::vector<Group>>& all) {
  if (device == devices) return all.push_back(classes);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    classes[i].push_back(device);
    append_partitions(device + 1, devices, classes, all);
    classes[i].pop_back();
  }
  classes.push_back({device});
  append_partitions(device + 1, devices, classes, all);
  classes.pop_back();
}

/// All partitions of the devices into classes, those of no placement too.
inline std::vector<std::vector<Group>> class_partitions(std::uint32_t devices) {
  std::vector<std::vector<Group>> all;
  std::vector<Group> classes;
  append_partitions(0, devices, classes, all);
  return all;
}

}  // namespace p2
