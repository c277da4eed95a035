#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/msccl/algorithm.h"

namespace p2::msccl {

/// What running an allreduce of a few steps in every possible interleaving shows. Knows the meaning
/// of steps, connections and dependencies on its own, and nothing of happens-before.
struct AllInterleavings {
  bool some_get_stuck = false;
  bool some_finish = false;
  /// Steps that were ready at once and touch the same memory, one of them writing.
  std::set<std::pair<StepPlace, StepPlace>> races;
  /// The memory at the end, as text, of every interleaving that finishes.
  std::set<std::string> results;
  bool all_correct = true;  ///< every result is an allreduce
};

/// Connections hold `capacity` transmissions. Preconditions: allreduce, no step out of bounds, no
/// residual add, one thread block at each end of a connection.
AllInterleavings all_interleavings(const Algorithm& algorithm, bool in_place, std::size_t capacity);

/// Whether the steps can run in this order and then leave both `first` and `second` ready.
bool can_run(const Algorithm& algorithm, const std::vector<StepPlace>& schedule, StepPlace first,
             StepPlace second, std::size_t capacity);

}  // namespace p2::msccl
