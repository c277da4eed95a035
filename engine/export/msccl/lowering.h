#pragma once

#include <string>

#include "p2/error.h"
#include "engine/msccl/loader_limits.h"
#include "engine/program/program.h"

namespace p2::msccl {

/// What MSCCL calls a goal: `allreduce`, `reduce_scatter`, `allgather`, `reduce` or `broadcast`;
/// empty for any other.
std::string collective_for(const Goal& goal);

/// How the chunks of a program travel.
struct Travel {
  Protocol protocol = Protocol::Simple;
  /// Chunks that go round a ring in one step: fewer take more steps.
  std::uint32_t longest_run = 1;

  /// The longest runs with which messages of any size are safe: cut into single chunks, they leave
  /// a place in the connection, so that a ring never stands still.
  static Travel safe(Protocol protocol) { return {protocol, fifo_capacity(protocol) - 1}; }
  /// As long as loaders take them.
  static Travel quick(Protocol protocol) { return {protocol, kMostChunksOfStep}; }
};

/// A valid program on one of its classes as an algorithm for as many GPUs: rank i is the i-th
/// device of the class. MSCCL knows one collective of all ranks, so every class is an algorithm of
/// its own. It has the chunks of the program, is called in place, and its collectives are rings and
/// chains. Throws InputError at `where` for a goal or a collective that MSCCL does not know, a
/// group with devices of several classes, and more than kMostTransfers.
Algorithm lower_class(const Program& program, std::size_t class_index, const Travel& travel,
                      const SourcePosition& where);

constexpr std::size_t kMostTransfers = std::size_t{1} << 22;

}  // namespace p2::msccl
