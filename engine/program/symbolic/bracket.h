#pragma once

#include <cstdint>
#include <optional>

#include "engine/program/synthesis.h"

namespace p2 {

/// Whether the approximations speak of the problem: the paper's collectives and goal.
bool bracket_covers(const Problem& problem, const Terms& terms);
/// Whether their grids are smaller than the problem's.
bool bracket_is_smaller(const Problem& problem);

/// The valid programs by two approximations: those that TwoChunks accepts, if ChunkTables accepts
/// each of them. Nothing if it refuses one, or if a limit is reached.
std::optional<ProgramList> bracketed_programs(const Problem& problem, std::uint32_t size,
                                              const Limits& limits,
                                              SearchProgress* progress = nullptr);

}  // namespace p2
