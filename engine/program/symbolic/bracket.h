#pragma once

#include <cstdint>
#include <optional>

#include "engine/program/synthesis.h"

namespace p2 {

/// Whether the approximations speak of the problem: the paper's collectives and goal.
bool bracket_covers(const Problem& problem, const Terms& terms);
/// Whether their grids are smaller than the problem's.
bool bracket_is_smaller(const Problem& problem);

/// With ChunkTables of at most `values` values of a digit: how many it needs to accept every
/// program of the list (at least `values`); 0 if it refuses one or a limit is reached.
std::uint32_t values_accepting(const ProgramList& list, const Problem& problem,
                               std::uint32_t values, const Limits& limits);

/// The valid programs by two approximations: those that TwoChunks accepts, if ChunkTables accepts
/// each of them. Nothing if it refuses one, or if a limit is reached.
std::optional<ProgramList> bracketed_programs(const Problem& problem, std::uint32_t size,
                                              const Limits& limits,
                                              SearchProgress* progress = nullptr);

}  // namespace p2
