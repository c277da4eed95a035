#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/symbolic/bracket.h"
#include "p2/result.h"

namespace p2 {

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

/// Whether the machine covers these moves and accepts them.
bool machine_accepts(const Problem& problem, std::span<const std::uint32_t> moves);

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
