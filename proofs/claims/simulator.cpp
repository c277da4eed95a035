#include "proofs/claims/simulator.h"

#include <algorithm>

namespace p2::claims {

Simulator::Simulator(std::uint32_t devices, const std::vector<Group>& classes)
    : states_(std::make_unique<StateTable>(devices)),
      kernels_(*states_),
      initial_(initial_state(devices, *states_)),
      goal_(ends_of({}, {}, classes, devices, *states_).goal) {}

bool Simulator::run(Collective collective, const std::vector<Group>& groups, SystemState& state) {
  for (const Group& group : groups) {
    before_.clear();
    for (const std::uint32_t device : group) before_.push_back(state[device]);
    after_.resize(before_.size());
    const bool empty =
        std::all_of(before_.begin(), before_.end(), [](StateId id) { return id == kHoldsNothing; });
    if (empty || !kernels_.apply(collective, before_, after_)) return false;
    for (std::size_t i = 0; i < group.size(); ++i) state[group[i]] = after_[i];
  }
  return true;
}

std::uint64_t Simulator::contributions(const SystemState& state) const {
  std::uint64_t total = 0;
  for (const StateId device : state) {
    for (const Piece& piece : states_->pieces(device)) {
      total += std::uint64_t{states_->sets().size(piece.chunks)} *
               states_->sets().size(piece.contributors);
    }
  }
  return total;
}

std::uint64_t Simulator::chunks(const SystemState& state) const {
  std::uint64_t total = 0;
  for (const StateId device : state) total += chunks_held(device);
  return total;
}

}  // namespace p2::claims
