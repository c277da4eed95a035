#include "proofs/claims/least_left.h"

#include <algorithm>
#include <bit>

#include "proofs/claims/recoverable.h"

namespace p2::claims {

LeastLeft::LeastLeft(const StateTable& states, const std::vector<Group>& classes,
                     const LatencyBandwidth& network)
    : held_(states), classes_(contributors_of(classes)) {
  const std::uint32_t devices = states.chunks();
  for (const Uplink& uplink : network.uplinks()) {
    for (std::uint32_t first = 0; first < devices; first += uplink.span) {
      Contributors run = 0;
      for (std::uint32_t d = first; d < std::min(first + uplink.span, devices); ++d) {
        run |= Contributors{1} << d;
      }
      links_.push_back({run, uplink.slowdown});
    }
  }
}

bool LeastLeft::add(const SystemState& state, std::uint32_t chunk, Contributors wanted,
                    Left& left) {
  pure_.clear();
  std::int64_t most = 0;
  std::int64_t sum = 0;
  std::int64_t open = 0;
  for (std::size_t device = 0; device < state.size(); ++device) {
    const Contributors held = held_.by_chunk(state[device])[chunk];
    if ((wanted >> device & 1U) != 0 && held != wanted) ++open;
    pure_.push_back((held & ~wanted) == 0 ? held : 0);
    most = std::max<std::int64_t>(most, std::popcount(pure_.back()));
    sum += std::popcount(pure_.back());
  }
  const std::optional<std::uint32_t> pieces = fewest_pieces(wanted, pure_);
  if (!pieces) return false;
  if (open == 0) return true;
  const std::int64_t size = std::popcount(wanted);
  while ((most * sum << left.rounds) < size * size * size) ++left.rounds;
  left.volume += *pieces - 1 + open - (*pieces > 1 ? 1 : 0);
  for (std::size_t link = 0; link < links_.size(); ++link) {
    Contributors inside = 0;
    Contributors outside = 0;
    for (std::size_t device = 0; device < state.size(); ++device) {
      ((links_[link].devices >> device & 1U) != 0 ? inside : outside) |= pure_[device];
    }
    if ((wanted & links_[link].devices) != 0 && inside != wanted) ++left.flows[link];
    if ((wanted & ~links_[link].devices) != 0 && outside != wanted) ++left.flows[link];
  }
  return true;
}

std::optional<Cost> LeastLeft::operator()(const SystemState& state) {
  const auto devices = static_cast<std::int64_t>(state.size());
  Left left{1, 0, std::vector<std::int64_t>(links_.size(), 0)};
  std::int64_t most = 0;  // of one chunk
  for (std::uint32_t chunk = 0; chunk < held_.chunks(); ++chunk) {
    const std::int64_t before = left.volume;
    for (const Contributors wanted : classes_) {
      if (!add(state, chunk, wanted, left)) return std::nullopt;
    }
    most = std::max(most, left.volume - before);
  }
  if (left.volume == 0) return Cost();
  std::vector<Charge> charges = {
      {left.rounds, 0},
      {std::max<std::int64_t>(1, 2 * most / devices), {left.volume, devices * devices}}};
  for (std::size_t link = 0; link < links_.size(); ++link) {
    charges.push_back({1, Fraction(left.flows[link] * links_[link].slowdown, 2 * devices)});
  }
  return Cost(std::move(charges));
}

}  // namespace p2::claims
