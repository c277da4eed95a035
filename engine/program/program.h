#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/text_cursor.h"
#include "engine/collective/collective.h"
#include "engine/program/goal.h"
#include "engine/program/instance.h"

namespace p2 {

/// One step of a lowered program: a collective on disjoint groups, each ascending. A step given as
/// an instruction keeps its shape, and the dialect applies to it; bare groups are subject to the
/// rules only.
struct Step {
  Collective collective = Collective::AllReduce;
  std::vector<Group> groups;
  std::optional<GroupShape> shape;
};

/// A lowered program (section 3.4) with its goal. Classes partition
/// the devices 0 … devices−1.
struct Program {
  /// Bound on the steps of a program from the user.
  static constexpr std::size_t kMaxSteps = 4096;
  /// Bound on the devices in the groups of all steps together.
  static constexpr std::size_t kMaxMembers = std::size_t{1} << 24;

  std::uint32_t devices = 0;
  std::vector<Group> classes;
  std::vector<Step> steps;
  Terms terms = {};
  Beginning beginning = {};

  std::uint32_t chunks() const { return devices * beginning.chunks_per_device; }
};

/// The groups of an instruction on this system.
Step lower(const DeviceGrid& grid, const GroupShape& shape, Collective collective);

/// Sorts a user's classes and their devices, and checks that they partition the devices. Throws
/// InputError at `where`.
void normalise_classes(std::vector<Group>& classes, std::uint32_t devices,
                       const SourcePosition& where);

/// Appends a step given by a user. Throws InputError at `where` when the program has kMaxSteps
/// already or its groups grow beyond kMaxMembers.
void append_step(std::vector<Step>& steps, Step step, std::size_t& members,
                 const SourcePosition& where);

/// Sorts every group and checks one step given by a user: at least one group, none empty, devices
/// in range, no device twice. Throws InputError at `where`.
void normalise_groups(std::vector<Group>& groups, std::uint32_t devices,
                      const SourcePosition& where);

// clang-format off
/// The one-line notation of programs. Steps are separated by `;`; a step is an instruction or bare
/// groups; a program without steps is `skip`:
///
///     ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); AllGather(node, InsideGroup)
///     AllReduce({node.data}, Parallel); AllReduce({gpu.data}, Master({node.data}))         (lattice)
///     Reduce{0,2,4,6},{1,3,5,7}; Broadcast{0,4}
///
/// parse_steps reads back what to_string printed.
// clang-format on
std::string to_string(const Step& step, const Instance* instance,
                      const CollectiveSet& collectives = {});
std::string to_string(const std::vector<Step>& steps, const Instance* instance,
                      const CollectiveSet& collectives = {});

/// `{0,2},{1,3}`.
std::string to_string(const std::vector<Group>& groups);
/// `{0,2}`; after `most` devices (0 = all) it ends with `…`.
std::string to_string(const Group& group, std::size_t most = 0);

/// Reads steps up to the end of the text. Instructions need an instance; without one they are
/// errors. `positions`, if given, receives the position of each step. Without `lowers` the groups
/// of instructions stay empty. Throws InputError at the first mistake.
std::vector<Step> parse_steps(TextCursor& cursor, std::uint32_t devices, const Instance* instance,
                              const CollectiveSet& collectives = {},
                              std::vector<SourcePosition>* positions = nullptr, bool lowers = true);

/// Reads `{0,2},{1,3}`.
std::vector<Group> parse_groups(TextCursor& cursor);

/// The root of Reduce and Broadcast is the device with the smallest id. Throws InputError at
/// `where` for a group given by a user that begins with another one or is otherwise not in
/// ascending order, lest it be read as naming another root. The other collectives take groups in
/// any order.
void require_root_first(Collective collective, const Group& group, const SourcePosition& where);

/// Reads a shape from the texts of the JSON keys `slice` and `form`.
GroupShape parse_shape(TextCursor& slice, TextCursor& form, const Instance& instance);

/// A program in which built-in collectives stand for user-defined ones.
struct BuiltInProgram {
  Program program;  ///< without user-defined collectives, unless one is `missing`
  /// Index of the first step of the other program for which nothing stands.
  std::optional<std::size_t> missing;
};

/// Puts in the place of every step of a user-defined collective the shortest sequence of at most
/// three built-in collectives on the same groups that leaves every device in the same state, of
/// equal ones the first in the order of kCollectives. Which sequence that is depends on the state
/// in which the step is taken: nothing is taken for granted about the definition. A step for which
/// there is none, or which is refused or follows one that is, stays as it is. With `keep_traffic`
/// so does one whose definition states its traffic: it has a price of its own.
BuiltInProgram built_in_program(const Program& program, bool keep_traffic = false);

}  // namespace p2
