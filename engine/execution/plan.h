#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/execution/elements.h"
#include "engine/program/instance.h"
#include "engine/program/program.h"

/// Lowering of programs to calls of a communication library (section 3.4 of the P2 paper). A
/// device's buffer is cut into k chunks; in the paper k = number of devices. A rank stores only the
/// chunks that it holds, in ascending order: the rows of its compact buffer. So every collective
/// runs on contiguous memory and is one call, with the root, if it has one, at position 0 of the
/// group.
namespace p2::execution {

/// For every row of a new compact buffer its index in the old one.
using Rows = std::vector<std::uint32_t>;
/// In Rows: a row of zeros.
constexpr std::uint32_t kZeros = UINT32_MAX;

/// A row of the buffer of another rank of a group.
struct Addend {
  std::uint32_t position = 0;  ///< of the rank in the group
  std::uint32_t row = 0;       ///< of its compact buffer

  bool operator==(const Addend&) const = default;
};

/// For every row that a rank holds after a user-defined collective the rows that are added up to
/// it: of all ranks, one each at most, its own among them.
using RowSums = std::vector<std::vector<Addend>>;

/// One collective as one rank takes part in it.
struct Call {
  Collective collective = Collective::AllReduce;
  std::uint32_t partition = 0;  ///< into Plan::partitions
  std::uint32_t group = 0;      ///< into the partition's groups
  std::uint32_t position = 0;   ///< of this rank in the group
  std::uint32_t size = 0;       ///< ranks in the group
  /// AllReduce, Reduce, Broadcast: rows of the buffer. ReduceScatter: rows that each rank receives.
  /// AllGather: rows that each rank sends. User-defined: the most that a rank holds before or
  /// after.
  std::uint32_t rows = 0;
  bool packed = false;  ///< some rank of the group rearranges its rows before the call

  bool operator==(const Call&) const = default;
};

/// One step of one rank: rearrange rows, call, rearrange the received rows.
struct RankStep {
  std::optional<Rows> pack;  ///< absent: the rows are already as the call needs them
  std::optional<Call> call;  ///< absent: the rank takes no part
  RowSums sums;              ///< of a call of a user-defined collective
  std::optional<Rows> unpack;
  Rows held;  ///< the chunks after the step; further rows are undefined
};

/// The calls of all ranks of a program.
///
/// Invalid programs have a plan, too: a rank that lacks a chunk contributes zeros to its sum;
/// blocks that do not divide evenly are padded with zeros; of a chunk that several ranks contribute
/// to an AllGather the first one is taken; a Broadcast overwrites. A user-defined collective whose
/// premises fail, that no additions can do, or that follows such a step, has no calls.
struct Plan {
  std::uint32_t devices = 0;
  std::uint32_t chunks = 0;
  CollectiveSet collectives;
  std::vector<Rows> begin;  ///< the chunks that each rank holds at the beginning
  /// Distinct sets of groups of two or more ranks: a communicator each.
  std::vector<std::vector<Group>> partitions;
  std::vector<std::vector<RankStep>> steps;  ///< [step][rank]
  std::uint32_t max_rows = 0;                ///< of any buffer at any time
};

/// Throws LimitReached for a user-defined collective on a group that is too large to see what it
/// adds up.
Plan plan_of(const Program& program);

/// A call as it was made: counts in elements, as passed to the library.
struct Issued {
  std::uint32_t step = 0;  ///< from 1
  Call call;
  std::uint64_t count = 0;

  bool operator==(const Issued&) const = default;
};

/// The calls of a rank in order, for chunks of `chunk_elements`.
std::vector<Issued> planned_calls(const Plan& plan, std::uint32_t rank, std::size_t chunk_elements);
/// Those of all ranks, for chunks of one element.
std::vector<std::vector<Issued>> planned_calls(const Plan& plan);

/// The calls that a rank issued for program number `program`, a JSON object per line: program, name
/// of the elements' type, step, collective, group, position, count and root, in the order of issue.
std::string record_lines(const Plan& plan, std::uint32_t program, ElementType type,
                         const std::vector<Issued>& issued);

/// Matches the calls of all ranks: a call is complete when it is the next one of every rank of its
/// group, and all of them have the same arguments. Returns what keeps the calls from matching, or
/// nothing if all complete; then no order of arrival can deadlock. `issued` is by rank.
std::optional<std::string> first_mismatch(const Plan& plan,
                                          const std::vector<std::vector<Issued>>& issued);

/// A plan by classes of ranks that make the same calls. Counts of rows are in chunks.
struct PlanSummary {
  /// The calls of a step, of which those of the largest groups.
  struct StepCalls {
    Collective collective = Collective::AllReduce;
    std::uint64_t groups = 0;  ///< of two or more ranks
    std::uint32_t ranks = 0;   ///< in the largest group
    std::uint32_t rows = 0;    ///< Call::rows, the most of any group
    /// The same in the terms of nccl-tests: of ReduceScatter and AllGather times the ranks.
    std::uint64_t buffer_rows = 0;
    /// Index of the distinct set of groups; nothing without groups.
    std::optional<std::uint32_t> communicator = {};

    bool operator==(const StepCalls&) const = default;
  };
  /// A call of a rank.
  struct RankCall {
    std::uint32_t step = 0;  ///< from 1
    std::uint32_t ranks = 0;
    std::uint32_t rows = 0;
    bool root = false;  ///< of Reduce and Broadcast

    auto operator<=>(const RankCall&) const = default;
  };
  struct RankClass {
    std::uint32_t first = 0;  ///< the smallest rank
    std::uint64_t ranks = 0;
    std::vector<RankCall> calls = {};
    std::uint32_t begins_with = 0;  ///< rows held before the first step
    std::uint32_t ends_with = 0;    ///< and after the last

    bool operator==(const RankClass&) const = default;
  };

  std::uint32_t devices = 0;
  std::uint32_t chunks = 0;
  std::uint32_t max_rows = 0;  ///< of any buffer at any time
  std::uint32_t communicators = 0;
  std::vector<StepCalls> steps = {};
  std::vector<RankClass> classes = {};  ///< by first rank

  bool operator==(const PlanSummary&) const = default;
};

/// The summary of a plan that lists all ranks.
PlanSummary summary_of(const Plan& plan, const std::vector<Step>& steps);

/// The summary of the plan of a valid program of built-in collectives whose steps have shapes and
/// whose chunks are as many as its devices, in time that does not depend on the number of devices.
/// Nothing where the steps tell too many sets of devices apart.
std::optional<PlanSummary> summary_by_patterns(const std::vector<Step>& steps, Start start,
                                               const Instance& instance);

}  // namespace p2::execution
