#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/collective/kernels.h"
#include "engine/program/derivation.h"

namespace p2::claims {

/// A system that steps are tried on. A group in which every device is empty is not legal, in both
/// dialects and for bare groups too.
class Machine {
 public:
  Machine(std::uint32_t devices, const std::vector<Group>& classes);

  const SystemState& initial() const { return initial_; }
  const SystemState& goal() const { return goal_; }
  const StateTable& states() const { return *states_; }
  std::uint32_t chunks_held(StateId device) const {
    return states_->sets().size(states_->held(device));
  }
  /// False, with `state` unspecified, when a group refuses.
  bool run(Collective collective, const std::vector<Group>& groups, SystemState& state);
  /// Contributions held, over all chunks of all devices.
  std::uint64_t contributions(const SystemState& state) const;
  /// Chunks held, over all devices.
  std::uint64_t chunks(const SystemState& state) const;

 private:
  std::unique_ptr<StateTable> states_;
  Kernels kernels_;
  SystemState initial_;
  SystemState goal_;
  std::vector<StateId> before_;
  std::vector<StateId> after_;
};

}  // namespace p2::claims
