#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "engine/msccl/algorithm.h"
#include "engine/onesided/plan.h"
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

namespace p2::onesided {

/// Lowers a valid program on one of its classes to a one-sided plan for as many GPUs, in place,
/// with one thread block each. In every step the members of a group meet by signals, then AllReduce
/// and ReduceScatter read the peers' chunks of the own part (and AllReduce writes the sum to all),
/// Reduce reads those of all, AllGather and Broadcast put; then they meet again. Throws InputError
/// at `where` for a goal other than allreduce, reducescatter, allgather and broadcast, a collective
/// of the user's own, and a group with devices of several classes.
Plan lower_class(const Program& program, std::size_t class_index, const SourcePosition& where);

/// A plan without packets, ports, switches and groups of thread blocks in the text format.
std::string to_text(const Plan& plan);

}  // namespace p2::onesided

namespace p2::msccl {

/// The collective of MSCCL for a goal: `allreduce`, `reduce_scatter`, `allgather`, `reduce` or
/// `broadcast`; empty for any other.
std::string msccl_collective(const Goal& goal);

/// How the chunks of a program are transferred.
struct TransferOptions {
  Protocol protocol = Protocol::Simple;
  /// The largest number of contiguous chunks in one step of a ring. Fewer need more steps.
  std::uint32_t max_run = 1;

  /// The longest runs that are safe for messages of any size: split into single chunks, they leave
  /// one slot of the FIFO free, so that a ring cannot deadlock.
  static TransferOptions safe(Protocol protocol) { return {protocol, fifo_capacity(protocol) - 1}; }
  /// The longest runs that loaders accept.
  static TransferOptions fast(Protocol protocol) { return {protocol, kMaxChunksPerStep}; }
};

constexpr std::size_t kMaxTransfers = std::size_t{1} << 22;

/// Lowers a valid program on one of its classes to an algorithm for as many GPUs: rank i is the
/// i-th device of the class. MSCCL has one collective of all ranks, so every class is an algorithm
/// of its own. It has the chunks of the program, is in place, and consists of rings and chains.
/// Throws InputError at `where` for a goal or a collective that MSCCL does not have, a group with
/// devices of several classes, and more than kMaxTransfers.
Algorithm lower_class(const Program& program, std::size_t class_index,
                      const TransferOptions& options, const SourcePosition& where);

}  // namespace p2::msccl
