#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/program/instance.h"
#include "engine/program/program.h"

namespace p2 {

/// The keys of problem.json that say which system is spoken of, each followed by a comma; those of
/// the instance only where there is one. `classes` are ordered by first device.
std::string system_text(std::uint32_t devices, const std::vector<Group>& classes, Dialect dialect,
                        const Instance* instance);

/// problem.json of a program; with the hierarchy `to` that its steps are compared with, if any.
std::string program_text(const Program& program, Dialect dialect, const Instance* instance,
                         std::optional<HierarchyKind> to = std::nullopt);

}  // namespace p2
