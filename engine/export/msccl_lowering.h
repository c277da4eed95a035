#pragma once

#include <string>

#include "engine/msccl/algorithm.h"
#include "engine/program/program.h"
#include "p2/error.h"

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
