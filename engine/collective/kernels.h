#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/collective/collective.h"
#include "engine/collective/device_state.h"
#include "engine/collective/language/interpreter.h"

namespace p2 {

/// The premises of figure 8, by the names they have in the definitions (*.p2c).
enum class Premise : std::uint8_t {
  SameChunks,      ///< all devices of the group hold the same chunks
  Disjoint,        ///< no contribution is counted twice
  Divisible,       ///< the group size divides the number of chunks held
  DisjointChunks,  ///< no chunk is held by two devices
  EqualCount,      ///< all devices hold equally many chunks
  Contained,       ///< the root holds whatever another device holds
  Informative,     ///< some device learns something from the root
};

/// `same-chunks`, `disjoint`, …
std::string_view name_of(Premise premise);

/// Why a collective may not run on a group: the first premise that fails, with a witness. Positions
/// count the group's devices from 0 in device order. `chunk`, `contributor` and the counts are set
/// only for the premises that mention them.
struct Refusal {
  Premise premise = Premise::SameChunks;
  std::uint32_t first = 0;  ///< a device in the conflict; for SameChunks the one that holds `chunk`
  std::uint32_t second = 0;  ///< the other device
  std::uint32_t chunk = 0;
  std::uint32_t contributor = 0;
  std::uint32_t first_count = 0;   ///< chunks held by the first device
  std::uint32_t second_count = 0;  ///< chunks held by the second device

  bool operator==(const Refusal&) const = default;
};

/// Why `collective` may not run on `group` (states in device order); empty if it may. Reports the
/// first conflict in device order, with its smallest chunk and contributor. Time about linear in
/// the group.
std::optional<Refusal> find_refusal(Collective collective, std::span<const StateId> group,
                                    StateTable& states);

/// Why a user-defined collective may not run on a group: the first premise that fails, and the
/// values of its variables for which it fails. Positions count the group's devices from 0, in
/// device order.
struct DefinedRefusal {
  std::string premise;
  std::string description;
  std::vector<language::Binding> witness;
};

/// User-defined collectives on compressed states: expands a tuple of device states, runs the
/// reference interpreter on it and remembers the result. A new tuple costs what the interpreter
/// costs, at least n · chunks · contributors.
class DefinedKernels {
 public:
  /// The table must outlive the kernels. `contributors` counts those of the whole system, on which
  /// a definition may depend.
  DefinedKernels(StateTable& states, CollectiveSet collectives, std::uint32_t contributors)
      : states_(states), collectives_(std::move(collectives)), contributors_(contributors) {}

  /// As Kernels::apply. Throws LimitReached for a group that is too large to be expanded.
  bool apply(Collective collective, std::span<const StateId> before, std::span<StateId> after);
  /// The failed premise; for a group on which `apply` returns false.
  DefinedRefusal refusal(Collective collective, std::span<const StateId> before) const;

  std::size_t bytes() const { return runs_.bytes() + after_.capacity() * sizeof(StateId); }

 private:
  /// The offset in `after_` of the states after the step, or kRefused.
  std::uint32_t run(Collective collective, std::span<const StateId> before);
  language::GroupState expand(std::span<const StateId> group) const;
  StateId compress(const language::GroupState& group, std::uint32_t position);

  StateTable& states_;
  CollectiveSet collectives_;
  std::uint32_t contributors_;
  TupleCache runs_;  // (collective, states) → what `run` returns
  std::vector<StateId> after_;
  std::vector<std::uint32_t> key_;
};

/// The rules of figure 8 for the five built-in collectives, on compressed states (device_state.h).
/// Results are memoized per tuple of device states, because synthesis runs the same groups again
/// and again. User-defined collectives are run by the interpreter. tests/collective compares the
/// kernels with the definitions engine/collective/*.p2c.
class Kernels {
 public:
  /// The built-in collectives. The table must outlive the kernels.
  explicit Kernels(StateTable& states) : Kernels(states, {}, 0) {}
  /// All of `collectives`, in a system of `contributors` devices.
  Kernels(StateTable& states, CollectiveSet collectives, std::uint32_t contributors)
      : states_(states), defined_(states, std::move(collectives), contributors) {}

  /// Runs `collective` on one group, given by its devices' states in device order. Returns false,
  /// and leaves `after` unspecified, when the precondition fails. `after` has the size of `before`
  /// and may not overlap it.
  bool apply(Collective collective, std::span<const StateId> before, std::span<StateId> after);

  /// The user-defined ones.
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
  TupleCache sums_;
  TupleCache gathers_;
  TupleCache scatters_;   // (state, n) → offset in shards_, or kRefused
  TupleCache contained_;  // (a, b) → 0 or 1
  std::vector<StateId> shards_;
  std::vector<Piece> pieces_;
  std::vector<IndexSetId> ids_;
};

}  // namespace p2
