#pragma once

#include <string>
#include <vector>

#include "engine/program/instance.h"
#include "engine/program/instruction.h"

namespace p2 {

/// The keys of problem.json that say which system is spoken of, each followed by a comma; those of
/// the instance only where there is one. `classes` are ordered by first device.
std::string system_text(std::uint32_t devices, const std::vector<Group>& classes, Dialect dialect,
                        const Instance* instance);

}  // namespace p2
