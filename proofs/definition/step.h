#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/collective/language/definition.h"
#include "engine/collective/language/group_state.h"

namespace p2::definition {

/// One legal step of a collective on a group that holds something.
struct Step {
  const language::Definition& definition;
  language::GroupState before;
  language::GroupState after;
};

/// Whether all premises hold of `before` and somebody holds something.
bool legal(const language::Definition& definition, const language::GroupState& before);

/// The step from `before`, or nothing where it is not legal.
std::optional<Step> take(const language::Definition& definition,
                         const language::GroupState& before);

/// The state with two contributors exchanged.
language::GroupState contributors_exchanged(const language::GroupState& state, std::uint32_t a,
                                            std::uint32_t b);
/// The state with the devices at two positions exchanged.
language::GroupState positions_exchanged(const language::GroupState& state, std::uint32_t a,
                                         std::uint32_t b);

}  // namespace p2::definition
