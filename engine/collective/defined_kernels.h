#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/collective/collective_set.h"
#include "engine/collective/device_state.h"
#include "engine/collective/language/interpreter.h"
#include "engine/collective/tuple_memory.h"

namespace p2 {

/// Why a collective that a user defines may not run on a group: the first premise that fails, and
/// the values for which it does; positions count devices of the group from 0 in device order.
struct DefinedRefusal {
  std::string premise;
  std::string description;
  std::vector<language::Binding> witness;
};

/// The collectives that users define, on compressed states: every tuple of device states is written
/// out and given to the interpreter of the definitions once. Takes time and memory as the
/// interpreter does, at least n · chunks · contributors.
class DefinedKernels {
 public:
  /// The table must outlive the kernels. `contributors` are those of the whole system, as
  /// definitions can tell how many there are.
  DefinedKernels(StateTable& states, CollectiveSet collectives, std::uint32_t contributors)
      : states_(states), collectives_(std::move(collectives)), contributors_(contributors) {}

  /// As Kernels::apply. Throws std::length_error for a group that is too large to be written out.
  bool apply(Collective collective, std::span<const StateId> before, std::span<StateId> after);
  /// Why `apply` returns false.
  DefinedRefusal refusal(Collective collective, std::span<const StateId> before) const;

  std::size_t bytes() const { return runs_.bytes() + after_.capacity() * sizeof(StateId); }

 private:
  /// Where in `after_` the states after the step begin, or kRefused.
  std::uint32_t run(Collective collective, std::span<const StateId> before);
  language::GroupState written_out(std::span<const StateId> group) const;
  StateId compressed(const language::GroupState& group, std::uint32_t position);

  StateTable& states_;
  CollectiveSet collectives_;
  std::uint32_t contributors_;
  TupleMemory runs_;  // (collective, states) → what `run` says
  std::vector<StateId> after_;
  std::vector<std::uint32_t> key_;
};

}  // namespace p2
