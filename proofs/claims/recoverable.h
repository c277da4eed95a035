#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/program/derivation.h"
#include "proofs/claims/contributors.h"

namespace p2::claims {

/// Of how many of `sets`, disjoint, `wanted` is the union at least; nothing where it is of none.
std::optional<std::uint32_t> fewest_pieces(Contributors wanted, std::span<const Contributors> sets);

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
  ContributorTable held_;
  std::vector<Contributors> classes_;
  std::vector<Contributors> pure_;
};

}  // namespace p2::claims
