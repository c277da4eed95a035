#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/base/limits.h"
#include "engine/msccl/memory_layout.h"
#include "engine/msccl/step_graph.h"
#include "p2/limits.h"
#include "p2/result.h"

namespace p2::msccl {

/// The first data race, in the order of `graph`: two steps, or two chunks of one, that access the
/// same cell, at least one of them writing, with nothing to order them. Preconditions: no step is
/// out of bounds, and `graph` has no cycle. Throws LimitReached.
std::optional<Fault> find_race(const Algorithm& algorithm, const MemoryLayout& layout,
                               const StepGraph& graph, LimitWatch& watch);

/// The message sizes for which an algorithm is valid. It is checked with one transmission per step;
/// where a message is so large that the chunks of a step do not fit into one, the step has several,
/// which can fill a connection or overlap another step.
struct SafeSizes {
  std::optional<std::uint64_t> max_bytes;  ///< empty: any size
  std::optional<Fault> above;              ///< of messages slightly larger

  /// Whether all sizes that the file is for are safe.
  bool cover(const Algorithm& algorithm) const {
    return !max_bytes || (algorithm.max_bytes && *algorithm.max_bytes <= *max_bytes);
  }
};

/// Of an algorithm without deadlocks and races as long as steps are one transmission each. A
/// message of which a single chunk does not fit into a transmission is sent in rounds, and a round
/// can end before the next one begins: larger messages have no new behaviour. Throws LimitReached.
SafeSizes find_safe_sizes(const Algorithm& algorithm, const std::vector<Connection>& connections,
                          const MemoryLayout& layout, LimitWatch& watch);

/// The properties of an algorithm, in the order in which they are checked.
enum class Property : std::uint8_t { Bounds, Connections, Deadlocks, Races, Result };
/// The property that a fault violates.
Property property_of(Fault::Kind kind);

/// The reason of a decision that a limit left open.
constexpr const char* kLimitReached = "A limit was met.";

/// The decision about an algorithm, over all interleavings of its steps, with one transmission per
/// step and connections of the protocol's capacity.
struct AlgorithmDecision : Decision<Fault> {
  std::optional<SafeSizes> safe_sizes = {};  ///< when established
  Property open = Property::Bounds;          ///< when undecided: the first that is not settled
};

/// Checks an algorithm both in place and out of place, as far as it may be called so, out of place
/// first. Properties are checked in the order of Property, faults in that of Fault::Kind. With a
/// residual add or an unknown collective the result is undecided unless there is another fault.
AlgorithmDecision judge(const Algorithm& algorithm, const Limits& limits);

/// A multiset of contributions; multiplicities saturate at 2^32 - 1. Stored as runs of ranks that
/// contribute the same chunk equally often: the partial sums of a ring have at most two.
class Sum {
 public:
  Sum() = default;
  explicit Sum(const Contribution& one);
  /// Each of the ranks 0 … ranks − 1 contributes this chunk once.
  static Sum of_all(std::uint32_t ranks, std::uint32_t chunk);

  void add(const Sum& other);
  bool operator==(const Sum&) const = default;

  /// The multiplicity of every contribution.
  std::map<Contribution, std::uint32_t> counts() const;

 private:
  struct Run {
    std::uint32_t chunk = 0;
    std::uint32_t first = 0;  ///< rank
    std::uint32_t last = 0;
    std::uint32_t count = 1;

    bool operator==(const Run&) const = default;
  };

  static void append(std::vector<Run>& runs, const Run& run);

  std::vector<Run> runs_;  ///< by chunk and rank; disjoint and maximal
};

/// The first output chunk, by rank and index, that differs from the collective's definition. Chunks
/// are multisets of contributions, so a contribution that is added twice is detected. One schedule
/// is executed; every interleaving has its result. Preconditions: the collective is known, no step
/// is a residual add, and there is no race and no cycle. Throws LimitReached.
std::optional<Fault> find_wrong_result(const Algorithm& algorithm, const MemoryLayout& layout,
                                       const std::vector<Connection>& connections,
                                       const StepGraph& graph, LimitWatch& watch);

}  // namespace p2::msccl
