#include "proofs/claims/disjoint_groups.h"

#include <algorithm>

#include "engine/program/notation.h"

namespace p2::claims {
namespace {

/// All non-empty sets of disjoint groups of at least two of the devices from `device` on.
void append_groups(std::uint32_t device, std::uint32_t devices, std::vector<Group>& blocks,
                   std::vector<std::vector<Group>>& all) {
  if (device == devices) {
    std::vector<Group> groups;
    for (const Group& block : blocks) {
      if (block.size() > 1) groups.push_back(block);
    }
    if (!groups.empty()) all.push_back(std::move(groups));
    return;
  }
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    blocks[block].push_back(device);
    append_groups(device + 1, devices, blocks, all);
    blocks[block].pop_back();
  }
  blocks.push_back({device});
  append_groups(device + 1, devices, blocks, all);
  blocks.pop_back();
}

}  // namespace

std::vector<std::vector<Group>> all_disjoint_groups(std::uint32_t devices) {
  std::vector<std::vector<Group>> all;
  std::vector<Group> blocks;
  append_groups(0, devices, blocks, all);
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

std::string to_string(const std::vector<BareMove>& moves, const std::vector<std::uint32_t>& way) {
  std::vector<Step> steps;
  for (const std::uint32_t move : way) {
    steps.push_back({moves[move].collective, moves[move].groups, std::nullopt});
  }
  return p2::to_string(steps, nullptr);
}

}  // namespace p2::claims
