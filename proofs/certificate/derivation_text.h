#pragma once

#include <string>

#include "engine/program/derivation.h"

namespace p2 {

/// derivation.json of a program all of whose steps are legal: the states of all devices before the
/// first step and after every one. Where all reduction classes look alike, only the first class is
/// recorded.
std::string derivation_text(const Program& program, Dialect dialect);

}  // namespace p2
