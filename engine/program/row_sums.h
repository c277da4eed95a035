#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/collective/addends.h"
#include "engine/collective/device_state.h"

namespace p2 {

/// The positions of a group whose rows of a chunk are added up to what a device holds of it.
struct RowSum {
  std::uint32_t chunk = 0;
  std::vector<std::uint32_t> positions;
};

/// How a group gets from the states `before` to `after` by moving rows and adding them up: for
/// every position the chunks that it holds after, in ascending order. This is the traffic of a
/// user-defined collective, of which only the states are defined. Nothing if no additions do it;
/// the definition is then not sound.
std::optional<std::vector<std::vector<RowSum>>> row_sums(const StateTable& states,
                                                         std::span<const StateId> before,
                                                         std::span<const StateId> after);

}  // namespace p2
