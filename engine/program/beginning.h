#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/collective/device_state.h"
#include "p2/error.h"
#include "engine/placement/device_grid.h"
#include "engine/program/goal.h"

namespace p2 {

/// The states in which reduction classes may begin.
enum class Start : std::uint8_t {
  Contributions,  ///< the paper's: every device has its own contribution in all chunks
  Shards,         ///< what ReduceScatter of the class makes of that
  RootSum         ///< what Reduce of the class makes of it
};

/// `contributions`, `shards`, `root-sum`.
std::string_view to_string(Start start);
/// What a start comes from by, on the whole class; nothing for Contributions.
std::optional<Collective> preparation(Start start);

/// Where the programs of a goal begin.
struct Beginning {
  Start start = Start::Contributions;
  /// The paper has one chunk for every device of the system.
  std::uint32_t chunks_per_device = 1;

  auto operator<=>(const Beginning&) const = default;
};

/// The first beginning from which the goal's collective may run on every class of more than one
/// device: with one chunk per device, Contributions, Shards, RootSum; if there is none, the same
/// with as many chunks per device as the largest class has devices, since AllToAll has nothing to
/// move where a device has only one chunk for all others. Classes of equal size are taken to be
/// alike, as they are for every collective that treats contributors alike. Throws InputError at
/// `where` if there is none, with the premise that refuses Contributions.
Beginning beginning_of(const Goal& goal, std::uint32_t devices, const std::vector<Group>& classes,
                       const SourcePosition& where);

/// Device states during a program: one StateId per device.
using SystemState = std::vector<StateId>;

/// Every device holds its own contribution in every chunk.
SystemState initial_state(std::uint32_t devices, StateTable& states);

/// Where a program begins and where it has to end.
struct Ends {
  SystemState begin;
  SystemState goal;
};

/// The ends on `classes`, which partition some or all devices of a system of `contributors`
/// devices. The beginning must be the goal's, the table have chunks_per_device · contributors
/// chunks.
Ends ends_of(const Goal& goal, const Beginning& beginning, const std::vector<Group>& classes,
             std::uint32_t contributors, StateTable& states);

}  // namespace p2
