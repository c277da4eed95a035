#pragma once

#include <cstdint>
#include <optional>

#include "engine/program/synthesis.h"

namespace p2 {

/// Whether the approximations speak of the problem: the paper's collectives and goal.
bool bracket_covers(const Problem& problem, const Terms& terms);
/// Whether their grids are smaller than the problem's.
bool bracket_is_smaller(const Problem& problem);

/// Those of the programs that ChunkTables of at most `values` values of a digit finds valid;
/// nothing if it does not decide, or a limit is reached. `required` grows to the values that it
/// needs.
std::optional<ProgramList> replay_on_tables(const ProgramList& list, const Problem& problem,
                                            std::uint32_t values, const Limits& limits,
                                            std::uint32_t& required);

/// The valid programs by two approximations: of those that TwoChunks accepts the ones that
/// ChunkTables finds valid. Nothing if it does not decide one, or if a limit is reached.
std::optional<ProgramList> bracketed_programs(const Problem& problem, std::uint32_t size,
                                              const Limits& limits,
                                              SearchProgress* progress = nullptr);

}  // namespace p2
