#pragma once

#include <string>

#include "engine/collective/language/group_state.h"

namespace p2::language {

/// A state for machines: a list by position of lists by chunk of the contributors held.
std::string state_json(const GroupState& state);

}  // namespace p2::language
