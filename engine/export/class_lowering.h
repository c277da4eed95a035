#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/program/program.h"
#include "p2/error.h"

/// What lowerings of one reduction class share: rank i is the i-th device of the class.
namespace p2::lowering {

/// Consecutive chunks.
struct ChunkRun {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// The chunks that a rank holds, ascending.
using Held = std::vector<std::uint32_t>;

/// The contiguous runs of chunks, of at most `max_length` each.
std::vector<ChunkRun> runs_of(const Held& chunks,
                              std::uint32_t max_length = std::numeric_limits<std::uint32_t>::max());

/// Splits chunks into `places` parts whose sizes differ by at most one.
std::vector<Held> parts_of(const Held& chunks, std::size_t places);

/// The ranks of a group's devices; empty for a group of another class. Throws InputError at `where`
/// for a group with devices of several classes.
std::vector<std::uint32_t> ranks_in_class(const Group& group, const Group& members,
                                          const SourcePosition& where);

/// The chunks that each rank holds before the first step.
std::vector<Held> initial_chunks(const Program& program, std::uint32_t ranks);

}  // namespace p2::lowering
