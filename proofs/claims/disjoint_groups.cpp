#include "proofs/claims/disjoint_groups.h"

#include <algorithm>

#include "engine/program/program.h"

namespace p2::claims {
namespace {

/// All partitions of the devices from `device` on, added to `classes`.
void append_partitions(std::uint32_t device, std::uint32_t devices, std::vector<Group>& classes,
                       std::vector<std::vector<Group>>& all) {
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

}  // namespace

std::vector<std::vector<Group>> all_partitions(std::uint32_t devices) {
  std::vector<std::vector<Group>> all;
  std::vector<Group> classes;
  append_partitions(0, devices, classes, all);
  return all;
}

std::vector<std::vector<Group>> all_disjoint_groups(std::uint32_t devices) {
  std::vector<std::vector<Group>> all = all_partitions(devices);
  for (std::vector<Group>& groups : all) {
    std::erase_if(groups, [](const Group& group) { return group.size() == 1; });
  }
  std::erase_if(all, [](const std::vector<Group>& groups) { return groups.empty(); });
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<BareMove> all_bare_moves(std::uint32_t devices) {
  std::vector<BareMove> moves;
  for (const std::vector<Group>& groups : all_disjoint_groups(devices)) {
    for (const Collective collective : kCollectives) moves.push_back({collective, groups});
  }
  return moves;
}

bool mixes(const std::vector<Group>& groups, const std::vector<Group>& classes) {
  return std::any_of(groups.begin(), groups.end(), [&](const Group& group) {
    return std::none_of(classes.begin(), classes.end(), [&](const Group& members) {
      return std::includes(members.begin(), members.end(), group.begin(), group.end());
    });
  });
}

std::string to_string(const std::vector<BareMove>& moves, const std::vector<std::uint32_t>& path) {
  std::vector<Step> steps;
  for (const std::uint32_t move : path) {
    steps.push_back({moves[move].collective, moves[move].groups, std::nullopt});
  }
  return p2::to_string(steps, nullptr);
}

}  // namespace p2::claims
