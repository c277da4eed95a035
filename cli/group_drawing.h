#pragma once

#include <string>

#include "engine/collective/language/group_state.h"

namespace p2 {

/// Two states of a group side by side, a matrix for each position: rows are chunks, columns are
/// contributors, and a filled cell is a contribution that is held.
std::string draw_step(const language::GroupState& before, const language::GroupState& after);

}  // namespace p2
