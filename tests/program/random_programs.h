#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "engine/program/program.h"

namespace p2 {

/// Programs made up at random, always the same for the same seed.
class RandomPrograms {
 public:
  explicit RandomPrograms(unsigned seed, const CollectiveSet& collectives = {})
      : random_(seed), collectives_(collectives.all()) {}

  std::uint32_t below(std::uint32_t bound) {
    return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random_);
  }
  Collective collective() {
    return collectives_[below(static_cast<std::uint32_t>(collectives_.size()))];
  }

  /// Devices 0 … devices−1 dealt out to disjoint sets of at least `least` devices each.
  std::vector<Group> deal(std::uint32_t devices, std::size_t least, bool all) {
    Group order(devices);
    for (std::uint32_t d = 0; d < devices; ++d) order[d] = d;
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<Group> groups;
    for (std::size_t at = 0; at < order.size();) {
      const std::size_t size = std::min<std::size_t>(least + below(devices), order.size() - at);
      Group group(order.begin() + static_cast<std::ptrdiff_t>(at),
                  order.begin() + static_cast<std::ptrdiff_t>(at + size));
      std::sort(group.begin(), group.end());
      at += size;
      if (size < least || (!all && !groups.empty() && below(3) == 0)) continue;
      groups.push_back(std::move(group));
    }
    std::sort(groups.begin(), groups.end());
    return groups;
  }

  /// A few steps of bare groups of at least `least` devices each; those of one are legal.
  Program program(std::uint32_t devices, std::size_t least = 2) {
    Program made{devices, deal(devices, 1, true), {}};
    for (std::uint32_t left = below(4); left > 0; --left) {
      std::vector<Group> groups = deal(devices, least, false);
      if (!groups.empty()) made.steps.push_back({collective(), std::move(groups), std::nullopt});
    }
    return made;
  }

  /// Drops, doubles or exchanges steps, changes a collective, deals the devices out anew or moves
  /// one of them.
  void mutate(Program& program) {
    if (program.steps.empty()) return;
    const std::size_t at = below(static_cast<std::uint32_t>(program.steps.size()));
    const auto step = program.steps.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(6)) {
      case 0:
        program.steps.erase(step);
        break;
      case 1:
        program.steps.insert(step, Step(*step));
        break;
      case 2:
        std::swap(*step, program.steps[below(static_cast<std::uint32_t>(program.steps.size()))]);
        break;
      case 3:
        step->collective = collective();
        break;
      case 4:
        move_device(*step, below(program.devices));
        if (step->groups.empty()) program.steps.erase(step);
        break;
      default: {
        step->groups = deal(program.devices, 2, false);
        step->shape.reset();
      }
    }
  }

 private:
  /// Takes the device out of its group, if it is in one, and puts it into one, or leaves it out.
  void move_device(Step& step, std::uint32_t device) {
    const std::size_t to = below(static_cast<std::uint32_t>(step.groups.size()) + 1);
    for (std::size_t i = 0; i < step.groups.size(); ++i) {
      Group& group = step.groups[i];
      std::erase(group, device);
      if (i != to) continue;
      group.insert(std::upper_bound(group.begin(), group.end(), device), device);
    }
    std::erase_if(step.groups, [](const Group& group) { return group.empty(); });
    std::sort(step.groups.begin(), step.groups.end());
    step.shape.reset();
  }

  std::mt19937 random_;
  std::vector<Collective> collectives_;
};

}  // namespace p2
