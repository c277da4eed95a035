#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/program/program.h"

/// Steps over any disjoint groups of devices.
namespace p2::claims {

/// A step given by its groups alone.
struct BareMove {
  Collective collective = Collective::AllReduce;
  std::vector<Group> groups;
};

/// All set partitions of the devices, including those that no placement has; each class ascends.
std::vector<std::vector<Group>> all_partitions(std::uint32_t devices);
/// All non-empty sets of disjoint groups of at least two devices, each ascending, in lexicographic
/// order.
std::vector<std::vector<Group>> all_disjoint_groups(std::uint32_t devices);
/// Every collective on each of them; by groups, then by collective.
std::vector<BareMove> all_bare_moves(std::uint32_t devices);

/// Whether some group has devices of several classes. Classes partition the devices and ascend.
bool mixes(const std::vector<Group>& groups, const std::vector<Group>& classes);

/// The program of the moves on `path`, in the notation of bare groups.
std::string to_string(const std::vector<BareMove>& moves, const std::vector<std::uint32_t>& path);

}  // namespace p2::claims
