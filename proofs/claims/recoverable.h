#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/program/derivation.h"

namespace p2::claims {

/// Of every chunk the contributions that a device in this state holds; bit d: device d's.
std::vector<std::uint64_t> contributors_by_chunk(const StateTable& states, StateId state);

/// Of how many of `sets`, disjoint, `wanted` is the union at least; nothing where it is of none.
std::optional<std::uint32_t> fewest_pieces(std::uint64_t wanted,
                                           std::span<const std::uint64_t> sets);

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

 private:
  using Contributors = std::uint64_t;  ///< bit d: device d's contribution

  const std::vector<Contributors>& rows_of(StateId state);

  const StateTable& states_;
  std::vector<Contributors> classes_;
  std::vector<std::vector<Contributors>> rows_;  ///< by state, then chunk; empty where not known
  std::vector<Contributors> pure_;
};

}  // namespace p2::claims
