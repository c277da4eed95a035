#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/collective/collective.h"
#include "engine/collective/defined_kernels.h"
#include "engine/collective/device_state.h"
#include "engine/collective/tuple_memory.h"

namespace p2 {

/// The five rules of figure 8 on compressed states: the fast twin of the definitions in
/// engine/collective/*.p2c, against which tests/collective compares it. Results are remembered per
/// tuple of device states, because synthesis meets the same groups again and again. Collectives
/// that users define are run by the interpreter.
class Kernels {
 public:
  /// The five. The table must outlive the kernels.
  explicit Kernels(StateTable& states) : Kernels(states, {}, 0) {}
  /// All of `collectives`, in a system of `contributors` devices.
  Kernels(StateTable& states, CollectiveSet collectives, std::uint32_t contributors)
      : states_(states), defined_(states, std::move(collectives), contributors) {}

  /// Runs `collective` on one group, given by its devices' states in device order. Returns false,
  /// and leaves `after` unspecified, when the precondition fails. `after` has the size of `before`
  /// and may not overlap it.
  bool apply(Collective collective, std::span<const StateId> before, std::span<StateId> after);

  /// Those that users define.
  const DefinedKernels& defined() const { return defined_; }

  std::size_t bytes() const;

 private:
  /// ⊎ s_i, or kRefused unless all devices hold the same chunks and no contribution occurs twice.
  StateId sum(std::span<const StateId> group);
  StateId compute_sum(std::span<const StateId> group);
  /// The union, or kRefused unless the devices hold equally many, pairwise disjoint chunks.
  StateId gather(std::span<const StateId> group);
  StateId compute_gather(std::span<const StateId> group);
  bool scatter(StateId state, std::span<StateId> after);
  bool broadcast(std::span<const StateId> before, std::span<StateId> after);
  /// a ≤ b: every contribution that a holds, b holds.
  bool contained(StateId a, StateId b);
  bool compute_contained(StateId a, StateId b);

  StateTable& states_;
  DefinedKernels defined_;
  TupleMemory sums_;
  TupleMemory gathers_;
  TupleMemory scatters_;   // (state, n) → offset in shards_, or kRefused
  TupleMemory contained_;  // (a, b) → 0 or 1
  std::vector<StateId> shards_;
  std::vector<Piece> pieces_;
  std::vector<IndexSetId> ids_;
};

}  // namespace p2
