#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/derivation.h"

namespace p2::claims {

/// Tells states that lead nowhere, for searches over arbitrary groups.
///
/// What a device holds in a chunk after a step is the disjoint union of what devices held there
/// before, each at most once. So what it holds at the end, its class, is a disjoint union of what
/// distinct devices hold now. Where the present contents of a chunk leave no such union for some
/// class, the goal cannot be reached, whatever the steps.
class Recoverable {
 public:
  /// The table must outlive it. At most 64 devices, as many as chunks.
  Recoverable(const StateTable& states, const std::vector<Group>& classes);

  /// False only where no steps lead from `state` to the goal.
  bool operator()(const SystemState& state);
  /// Chunks of `device` that are not yet what they are to be at the end.
  std::uint32_t unfinished(std::uint32_t device, StateId held);

 private:
  using Contributors = std::uint64_t;  ///< bit d: device d's contribution

  const std::vector<Contributors>& rows_of(StateId state);

  const StateTable& states_;
  std::vector<Contributors> classes_;
  std::vector<Contributors> class_of_;           ///< by device
  std::vector<std::vector<Contributors>> rows_;  ///< by state, then chunk; empty where not known
  std::vector<Contributors> pure_;
};

}  // namespace p2::claims
