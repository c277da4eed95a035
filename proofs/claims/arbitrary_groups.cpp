#include "proofs/claims/arbitrary_groups.h"

#include <algorithm>

#include "engine/program/notation.h"
#include "proofs/claims/frontier.h"
#include "proofs/claims/machine.h"

namespace p2::claims {
namespace {

constexpr std::uint32_t kMostDevices = 4;

/// All non-empty sets of disjoint groups of at least two devices, each ascending.
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

struct BareMove {
  Step step;
  bool mixes = false;  ///< has a group with devices of several classes
};

std::vector<BareMove> bare_moves(std::uint32_t devices, const std::vector<Group>& classes) {
  std::vector<std::vector<Group>> all;
  std::vector<Group> blocks;
  append_groups(0, devices, blocks, all);
  std::sort(all.begin(), all.end());
  const auto mixed = [&](const Group& group) {
    return std::none_of(classes.begin(), classes.end(), [&](const Group& members) {
      return std::includes(members.begin(), members.end(), group.begin(), group.end());
    });
  };
  std::vector<BareMove> moves;
  for (const std::vector<Group>& groups : all) {
    const bool mixes = std::any_of(groups.begin(), groups.end(), mixed);
    for (const Collective collective : kCollectives) {
      moves.push_back({{collective, groups, std::nullopt}, mixes});
    }
  }
  return moves;
}

Answer refuted_by(const std::vector<BareMove>& moves, const std::vector<std::uint32_t>& way) {
  std::vector<Step> steps;
  for (const std::uint32_t move : way) steps.push_back(moves[move].step);
  return {Outcome::Refuted, static_cast<std::uint32_t>(way.size()), to_string(steps, nullptr),
          way.size(), "a group has devices of several reduction classes"};
}

/// Looks for the goal with a mixed step behind it. A node is a state and, last, whether a step was
/// mixed; both kinds of goal end a program.
Answer search(const std::vector<Group>& classes, const std::vector<BareMove>& moves,
              std::uint32_t devices, const Bounds& bounds) {
  Machine machine(devices, classes);
  Frontier::Key initial = machine.initial();
  initial.push_back(0);
  Frontier frontier(initial);
  for (std::size_t node = 0; node < frontier.nodes(); ++node) {
    const SystemState state(frontier.key(node).begin(), frontier.key(node).end() - 1);
    const bool mixed = frontier.key(node).back() != 0;
    if (state == machine.goal()) {
      if (mixed) return refuted_by(moves, frontier.way(node));
      continue;
    }
    if (frontier.depth(node) == bounds.size) continue;
    if (bounds.limits.exceeded(frontier.bytes())) {
      return {Outcome::Undecided, frontier.depth(node), {}, 0, {}};
    }
    for (std::uint32_t move = 0; move < moves.size(); ++move) {
      SystemState after = state;
      if (!machine.run(moves[move].step.collective, moves[move].step.groups, after)) continue;
      after.push_back(mixed || moves[move].mixes ? 1 : 0);
      frontier.reach(node, move, after);
    }
  }
  return {Outcome::Holds, bounds.size, {}, 0, {}};
}

}  // namespace

Answer groups_stay_in_classes(const Subject& subject, const Bounds& bounds) {
  const std::vector<Group> classes = subject.from.classes();
  const std::uint32_t devices = subject.from.grid.devices();
  if (classes.size() == 1) return {Outcome::Holds, bounds.size, {}, 0, {}};
  if (devices > kMostDevices) {
    return {Outcome::Undecided, 0, {}, 0, "arbitrary groups are tried on at most 4 devices"};
  }
  return search(classes, bare_moves(devices, classes), devices, bounds);
}

}  // namespace p2::claims
