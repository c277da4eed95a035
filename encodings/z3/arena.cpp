#include "encodings/z3/arena.h"

#include <algorithm>
#include <numeric>

#include "engine/base/invariant.h"

namespace p2::z3_encoding {
namespace {

/// The groups that lie in `members`, with its devices numbered from 0.
std::vector<Group> among(const std::vector<Group>& groups, const Group& members) {
  std::vector<Group> inside;
  for (const Group& group : groups) {
    Group renumbered;
    for (const std::uint32_t device : group) {
      const auto place = std::lower_bound(members.begin(), members.end(), device);
      if (place == members.end() || *place != device) continue;
      renumbered.push_back(static_cast<std::uint32_t>(place - members.begin()));
    }
    invariant(renumbered.empty() || renumbered.size() == group.size(), "a group leaves its class");
    if (!renumbered.empty()) inside.push_back(std::move(renumbered));
  }
  return inside;
}

}  // namespace

Arena arena_of(const Instance& instance, const Lowering& lowering,
               const std::vector<Instruction>& instructions) {
  Arena arena;
  const std::vector<Group> classes = lowering.classes();
  Group members(instance.grid.devices());
  std::iota(members.begin(), members.end(), 0U);
  if (instance.hierarchy.confined_to_reduction()) members = classes[0];
  arena.devices = static_cast<std::uint32_t>(members.size());
  arena.classes = instance.hierarchy.confined_to_reduction() ? among({members}, members) : classes;
  for (const Instruction& instruction : instructions) {
    arena.groups.push_back(among(instruction.groups, members));
  }
  return arena;
}

}  // namespace p2::z3_encoding
