#include "engine/program/program.h"

#include <algorithm>

#include <fmt/format.h>

namespace p2 {

Step lower(const DeviceGrid& grid, const GroupShape& shape, Collective collective) {
  return {collective, grid.groups(shape.pattern.reduced, shape.pattern.pinned), shape};
}

void normalise_classes(std::vector<Group>& classes, std::uint32_t devices,
                       const SourcePosition& where) {
  std::vector<bool> seen(devices, false);
  for (Group& members : classes) {
    if (members.empty()) throw InputError(where, "an empty class, expected at least one device");
    for (const std::uint32_t device : members) {
      if (device >= devices) {
        throw InputError(
            where, fmt::format("a class holds device {}, expected devices from 0 to {}", device,
                               devices - 1));
      }
      if (seen[device]) {
        throw InputError(where, fmt::format("device {} is in the classes twice, expected every "
                                            "device in exactly one class",
                                            device));
      }
      seen[device] = true;
    }
    std::sort(members.begin(), members.end());
  }
  const auto homeless = std::find(seen.begin(), seen.end(), false);
  if (homeless != seen.end()) {
    throw InputError(where,
                     fmt::format("device {} is in no class, expected every device in exactly "
                                 "one class",
                                 homeless - seen.begin()));
  }
  std::sort(classes.begin(), classes.end());
}

void append_step(std::vector<Step>& steps, Step step, std::size_t& members,
                 const SourcePosition& where) {
  if (steps.size() == Program::kMostSteps) {
    throw InputError(
        where, fmt::format("more than {} steps, expected a shorter program", Program::kMostSteps));
  }
  for (const Group& group : step.groups) members += group.size();
  if (members > Program::kMostMembers) {
    throw InputError(where,
                     fmt::format("more than {} devices in the groups of all steps, expected a "
                                 "shorter program",
                                 Program::kMostMembers));
  }
  steps.push_back(std::move(step));
}

void normalise_groups(std::vector<Group>& groups, std::uint32_t devices,
                      const SourcePosition& where) {
  if (groups.empty()) throw InputError(where, "a step without groups, expected at least one");
  std::vector<std::uint32_t> all;
  for (Group& group : groups) {
    if (group.empty()) throw InputError(where, "an empty group, expected at least one device");
    std::sort(group.begin(), group.end());
    if (group.back() >= devices) {
      throw InputError(where, fmt::format("device {} does not exist, expected devices from 0 to {}",
                                          group.back(), devices - 1));
    }
    all.insert(all.end(), group.begin(), group.end());
  }
  std::sort(all.begin(), all.end());
  const auto twice = std::adjacent_find(all.begin(), all.end());
  if (twice != all.end()) {
    throw InputError(where, fmt::format("device {} occurs twice in one step, expected disjoint "
                                        "groups",
                                        *twice));
  }
}

}  // namespace p2
