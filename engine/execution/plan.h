#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/program/program.h"

/// Lowered programs on real data (section 3.4). A device's buffer is cut into k chunks, k = number
/// of devices. A rank holds some of them, and keeps just those, one after the other in ascending
/// order: its compact buffer, whose rows they are. So every collective runs on contiguous memory
/// and is one call of a communication library, with the root, if it has one, at position 0 of the
/// group.
namespace p2::execution {

/// Where the rows of a new compact buffer come from in the old one.
using Rows = std::vector<std::uint32_t>;
/// In Rows: not held, take zeros.
constexpr std::uint32_t kZeros = UINT32_MAX;

/// One collective as one rank takes part in it.
struct Call {
  Collective collective = Collective::AllReduce;
  std::uint32_t partition = 0;  ///< into Plan::partitions
  std::uint32_t group = 0;      ///< into the partition's groups
  std::uint32_t position = 0;   ///< of this rank in the group
  std::uint32_t size = 0;       ///< ranks in the group
  /// AllReduce, Reduce, Broadcast: rows of the buffer. ReduceScatter: rows that each rank receives.
  /// AllGather: rows that each rank sends.
  std::uint32_t rows = 0;

  bool operator==(const Call&) const = default;
};

/// What one rank does in one step: rearrange its rows, call, rearrange what it then has.
struct RankStep {
  std::optional<Rows> pack;  ///< nothing: the rows are as the call needs them
  std::optional<Call> call;  ///< nothing: no data move to or from this rank
  std::optional<Rows> unpack;
  Rows held;  ///< the chunks after the step; rows of the buffer beyond these mean nothing
};

/// The calls of all ranks of a program.
///
/// Every program has a plan, also one that the rules refuse: a rank that lacks a chunk which others
/// add up adds zeros; blocks that do not divide evenly are filled up with zeros; of a chunk that
/// several ranks bring to an AllGather the first one counts; a Broadcast replaces what was there.
struct Plan {
  std::uint32_t devices = 0;
  /// Distinct sets of groups of two or more ranks: what a library needs a communicator for.
  std::vector<std::vector<Group>> partitions;
  std::vector<std::vector<RankStep>> steps;  ///< [step][rank]
  std::uint32_t most_rows = 0;               ///< that a buffer ever holds
};

Plan plan_of(const Program& program);

}  // namespace p2::execution
