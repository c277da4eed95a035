#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/program/synthesis.h"
#include "p2/result.h"

namespace p2 {

/// Whether the approximations speak of the problem: the paper's collectives, one of them as goal.
bool bracket_covers(const Problem& problem, const Terms& terms);
/// Whether their grids are smaller than the problem's.
bool bracket_is_smaller(const Problem& problem);

/// Those of the programs that ChunkTables of at most `values` values of a digit finds valid;
/// nothing if it does not decide, or a limit is reached. `required` grows to the values that it
/// needs.
std::optional<ProgramList> replay_on_tables(const ProgramList& list, const Problem& problem,
                                            Collective goal, std::uint32_t values,
                                            const Limits& limits, std::uint32_t& required);

/// The valid programs by two approximations: of those that TwoChunks accepts the ones that
/// ChunkTables finds valid. Nothing if it does not decide one, or if a limit is reached.
std::optional<ProgramList> bracketed_programs(const Problem& problem, std::uint32_t size,
                                              const Limits& limits,
                                              SearchProgress* progress = nullptr,
                                              Collective goal = Collective::AllReduce);

/// An answer about all sizes of at least 2 of some digits.
struct SizesAnswer {
  Outcome outcome = Outcome::Undecided;
  SearchEngine engine = SearchEngine::Machine;
  /// Refuted: by digit, the first sizes for which it is not so.
  std::vector<std::uint32_t> sizes = {};
};

/// The moves of a program's steps; nothing if one is none: a step of bare groups, one that the
/// dialect does not allow.
std::optional<std::vector<std::uint32_t>> moves_of(const NamedProblem& named,
                                                   const std::vector<Step>& steps);

/// Who accepts these moves, of which nothing depends on sizes: the machine, where it covers them,
/// or ChunkTables. Nothing if they are no valid program, or if neither decides.
std::optional<SearchEngine> accepting_engine(const Problem& problem, const Terms& terms,
                                             std::span<const std::uint32_t> moves,
                                             const Limits& limits);

/// Whether a program, given by moves of the problem, is valid whatever the sizes of the digits
/// `open`; the others have the problem's. The machine decides for all sizes (`size_independence` in
/// proofs/theory). Else ChunkTables must accept it for every combination of 2, 3 and 4 values, and
/// of the grid that stands for all sizes beyond. The problem must be covered by the bracket.
SizesAnswer valid_for_all_sizes(const Problem& problem, std::span<const std::uint32_t> moves,
                                FactorSet open, const Limits& limits);

/// Whether these are the valid programs of at most `size` steps whatever the sizes of the digits
/// `open`: for all these grids ChunkTables must find just them valid, of the programs that
/// TwoChunks accepts without regard to the numbers of chunks that depend on sizes.
SizesAnswer listed_for_all_sizes(const Problem& problem, const ProgramList& list,
                                 std::uint32_t size, FactorSet open, const Limits& limits);

}  // namespace p2
