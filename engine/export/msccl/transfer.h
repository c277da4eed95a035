#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/msccl/algorithm.h"

namespace p2::msccl {

/// Consecutive chunks.
struct ChunkRun {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// What one rank does with one run of chunks, all in place: what it reads and what it writes are
/// the same chunks of its one buffer.
struct Transfer {
  std::uint32_t rank = 0;
  std::optional<std::uint32_t> send_peer = {};
  std::optional<std::uint32_t> receive_peer = {};
  StepType type = StepType::Send;
  ChunkRun chunks = {};
};

/// The transfers of one collective step of a program. Those of a rank are in the order in which it
/// runs them, all with the same peers.
using Transfers = std::vector<Transfer>;

}  // namespace p2::msccl
