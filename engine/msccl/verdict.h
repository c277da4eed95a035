#pragma once

#include <cstdint>
#include <optional>

#include "engine/base/limit_watch.h"
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

}  // namespace p2::msccl
