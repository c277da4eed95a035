#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/collective/collective.h"
#include "engine/collective/device_state.h"
#include "engine/placement/placement.h"
#include "p2/error.h"

namespace p2 {

/// The names of the built-in goals.
constexpr std::string_view kGoals =
    "allreduce, reducescatter, allgather, reduce, broadcast or alltoall";

/// The specification of programs: every reduction class ends as if one collective had run once on
/// the whole class, from its beginning. The paper's goal is AllReduce. A class of one device ends
/// as it begins.
struct Goal {
  std::string name = "allreduce";  ///< one of kGoals or, for a user's, the name of its collective
  CollectiveSet collectives = {};  ///< to which `collective` belongs
  Collective collective = Collective::AllReduce;

  /// The goal to perform a user-defined collective on every class.
  static Goal of(const language::Definition& definition);

  bool is_allreduce() const { return collective == Collective::AllReduce; }
  const language::Definition& definition() const { return collectives.definition_of(collective); }
};

/// One of kGoals.
std::optional<Goal> goal_called(std::string_view name);

/// The collectives that programs may use, and their goal.
struct Terms {
  CollectiveSet collectives = {};
  Goal goal = {};

  /// The paper's: its five collectives, and AllReduce as goal.
  bool of_paper() const { return !collectives.extended() && goal.is_allreduce(); }
};

/// The states in which reduction classes may begin.
enum class Start : std::uint8_t {
  Contributions,  ///< the paper's: every device has its own contribution in all chunks
  Shards,         ///< what ReduceScatter of the class makes of that
  RootSum         ///< what Reduce of the class makes of it
};

/// `contributions`, `shards`, `root-sum`.
std::string_view to_string(Start start);
/// The collective that makes a start from Contributions, on the whole class; none for
/// Contributions.
std::optional<Collective> preparation(Start start);

/// The initial state of the programs of a goal.
struct Beginning {
  Start start = Start::Contributions;
  /// 1 in the paper: as many chunks as the system has devices.
  std::uint32_t chunks_per_device = 1;

  auto operator<=>(const Beginning&) const = default;
};

/// The first beginning from which the goal's collective may run on every class of more than one
/// device: with one chunk per device, Contributions, Shards, RootSum; if there is none, the same
/// with as many chunks per device as the largest class has devices, since AllToAll has nothing to
/// move where a device has only one chunk for all others. One class of each size is examined, which
/// suffices for collectives that treat contributors alike. Throws InputError at `where` if there is
/// none, with the premise that refuses Contributions.
Beginning beginning_of(const Goal& goal, std::uint32_t devices, const std::vector<Group>& classes,
                       const SourcePosition& where);

/// The same for a built-in collective, where the size of the classes divides the number of devices.
Beginning beginning_of(Collective built_in, std::uint64_t class_size);

/// Device states during a program: one StateId per device.
using SystemState = std::vector<StateId>;

/// Every device holds its own contribution in every chunk.
SystemState initial_state(std::uint32_t devices, StateTable& states);

/// The initial state and the required final state of a program.
struct Ends {
  SystemState begin;
  SystemState goal;
};

/// The states on `classes`, which partition some or all devices of a system of `contributors`
/// devices. The beginning must be the goal's, the table have chunks_per_device · contributors
/// chunks.
Ends ends_of(const Goal& goal, const Beginning& beginning, const std::vector<Group>& classes,
             std::uint32_t contributors, StateTable& states);

/// What a device holds in one chunk: the ascending contributors whose sum it is; empty for nothing.
using Contributors = std::vector<std::uint32_t>;

/// Positions of a group whose rows of one chunk add up to `wanted`: rows[i] is what position i
/// holds; the rows of the positions returned are pairwise disjoint and their union is `wanted`,
/// which is not empty. Nothing if there are none: then no additions of whole rows make it (an exact
/// cover; branches on the first contributor that is not covered, Knuth, Dancing Links, 2000).
///
/// `self` is the position that wants it: what it holds itself is used where it can be, then the
/// positions after it in cyclic order, so that equal rows are not all taken from one device. Throws
/// LimitReached where the search is too long.
std::optional<std::vector<std::uint32_t>> addends(std::span<const Contributors> rows,
                                                  const Contributors& wanted, std::uint32_t self);

/// The positions of a group whose rows of a chunk are added up to what a device holds of it.
struct RowSum {
  std::uint32_t chunk = 0;
  std::vector<std::uint32_t> positions;
};

/// How a group gets from its states in `before` to those in `after` by moving rows and adding them
/// up: for every position the chunks that it holds after, in ascending order. This is the traffic
/// of a user-defined collective, of which only the states are defined. Nothing if no additions do
/// it; the definition is then not sound.
std::optional<std::vector<std::vector<RowSum>>> row_sums(const StateTable& states,
                                                         const Group& group,
                                                         const SystemState& before,
                                                         const SystemState& after);

}  // namespace p2
