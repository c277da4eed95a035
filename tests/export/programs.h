#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"

namespace p2 {

/// Of the programs of a list only every so many-th is tried, so that the suite is quick.
constexpr std::size_t kOneOf = 5;

/// All valid programs of at most 5 steps that reduce over one axis on all devices.
std::vector<Program> programs_of(const std::string& hierarchy);

}  // namespace p2
