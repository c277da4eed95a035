#pragma once

#include <string>

#include "engine/program/derivation.h"

namespace p2 {

/// Draws the devices' states as figures 7 and 8 do: for systems of at most 8 devices one k × k
/// matrix per device, rows chunks, columns contributors; for larger ones a line per device and
/// content, for the devices of the first reduction class (every class of an instruction's step
/// looks the same).
std::string draw_state(const SystemState& state, const StateTable& states,
                       const std::vector<Group>& classes);

/// The whole program: start, every step with its groups, and what refuted it, if anything did, with
/// the states of the devices that show it.
std::string draw_derivation(const Program& program, Dialect dialect, const Instance* instance,
                            const Limits& limits = {});

}  // namespace p2
