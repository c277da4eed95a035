#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/collective/collective.h"
#include "engine/program/beginning.h"
#include "engine/program/instance.h"

namespace p2 {

/// One step of a lowered program: a collective on disjoint groups, each ascending. A step that was
/// given as an instruction keeps its shape and is then held to the dialect; bare groups are judged
/// by the rules alone.
struct Step {
  Collective collective = Collective::AllReduce;
  std::vector<Group> groups;
  std::optional<GroupShape> shape;
};

/// A lowered program (section 3.4) and what it is for: its goal on every class. Classes partition
/// the devices 0 … devices−1.
struct Program {
  /// The longest program that is read from a file or from the command line.
  static constexpr std::size_t kMostSteps = 4096;
  /// The most devices that its groups may have together, over all steps.
  static constexpr std::size_t kMostMembers = std::size_t{1} << 24;

  std::uint32_t devices = 0;
  std::vector<Group> classes;
  std::vector<Step> steps;
  Terms terms = {};
  Beginning beginning = {};

  std::uint32_t chunks() const { return devices * beginning.chunks_per_device; }
};

/// The step that `collective` with `shape` stands for on this system.
Step lower(const DeviceGrid& grid, const GroupShape& shape, Collective collective);

/// Sorts classes given by a user, each and all, and checks that they partition the devices. Throws
/// InputError at `where`.
void normalise_classes(std::vector<Group>& classes, std::uint32_t devices,
                       const SourcePosition& where);

/// Appends a step given by a user. Throws InputError at `where` when the program has kMostSteps
/// already or its groups grow beyond kMostMembers.
void append_step(std::vector<Step>& steps, Step step, std::size_t& members,
                 const SourcePosition& where);

/// Sorts every group and checks one step given by a user: at least one group, none empty, devices
/// in range, no device twice. Throws InputError at `where`.
void normalise_groups(std::vector<Group>& groups, std::uint32_t devices,
                      const SourcePosition& where);

}  // namespace p2
