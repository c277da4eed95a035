#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/collective/collective.h"
#include "engine/collective/device_state.h"

namespace p2 {

/// The premises of figure 8, by the names they have in the definitions (*.p2c).
enum class Premise : std::uint8_t {
  SameChunks,      ///< all devices of the group hold the same chunks
  Disjoint,        ///< no contribution is counted twice
  Divisible,       ///< the group size divides the number of chunks held
  DisjointChunks,  ///< no chunk is held by two devices
  EqualCount,      ///< all devices hold equally many chunks
  Contained,       ///< the root holds whatever another device holds
  Informative,     ///< some device learns something from the root
};

/// `same-chunks`, `disjoint`, …
std::string_view name_of(Premise premise);

/// Why a collective may not run on a group: the first premise that fails, with a witness. Positions
/// count the group's devices from 0 in device order. `chunk`, `contributor` and the counts are set
/// only for the premises that mention them.
struct Refusal {
  Premise premise = Premise::SameChunks;
  std::uint32_t first = 0;  ///< a device in the conflict; for SameChunks the one that holds `chunk`
  std::uint32_t second = 0;  ///< the other device
  std::uint32_t chunk = 0;
  std::uint32_t contributor = 0;
  std::uint32_t first_count = 0;   ///< chunks held by the first device
  std::uint32_t second_count = 0;  ///< chunks held by the second device

  bool operator==(const Refusal&) const = default;
};

/// Why `collective` may not run on `group` (states in device order); empty if it may. Reports the
/// first conflict in device order, with its smallest chunk and contributor. Time about linear in
/// the group.
std::optional<Refusal> find_refusal(Collective collective, std::span<const StateId> group,
                                    StateTable& states);

}  // namespace p2
