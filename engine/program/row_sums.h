#pragma once

#include <optional>
#include <vector>

#include "engine/collective/addends.h"
#include "engine/program/goal.h"

namespace p2 {

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
