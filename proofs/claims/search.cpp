#include "proofs/claims/search.h"

#include <algorithm>
#include <bit>

#include "engine/base/invariant.h"

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

namespace {

std::vector<Contributors> read_by_chunk(const StateTable& states, StateId state) {
  std::vector<Contributors> rows(states.chunks());
  for (std::uint32_t chunk = 0; chunk < states.chunks(); ++chunk) {
    for (const p2::Run& run : states.sets().runs(states.row(state, chunk))) {
      for (std::uint32_t c = run.begin; c < run.end; ++c) rows[chunk] |= Contributors{1} << c;
    }
  }
  return rows;
}

}  // namespace

std::vector<Contributors> contributors_of(const std::vector<Group>& classes) {
  std::vector<Contributors> all;
  for (const Group& members : classes) {
    Contributors each = 0;
    for (const std::uint32_t device : members) each |= Contributors{1} << device;
    all.push_back(each);
  }
  return all;
}

ContributorTable::ContributorTable(const StateTable& states) : states_(states) {
  invariant(states.chunks() <= 64, "contributors are kept in 64 bits");
}

const std::vector<Contributors>& ContributorTable::by_chunk(StateId state) {
  if (known_.size() <= state) known_.resize(std::size_t{state} + 1);
  if (known_[state].empty()) known_[state] = read_by_chunk(states_, state);
  return known_[state];
}

std::optional<std::uint32_t> min_exact_cover(Contributors wanted,
                                             std::span<const Contributors> sets) {
  if (wanted == 0) return 0;
  const Contributors first = wanted & (~wanted + 1);
  std::optional<std::uint32_t> fewest;
  for (const Contributors set : sets) {
    if ((set & first) == 0 || (set & ~wanted) != 0) continue;
    const auto others = min_exact_cover(wanted & ~set, sets);
    if (others && (!fewest || *others + 1 < *fewest)) fewest = *others + 1;
  }
  return fewest;
}

GoalReachability::GoalReachability(const StateTable& states, const std::vector<Group>& classes)
    : held_(states), classes_(contributors_of(classes)) {}

bool GoalReachability::operator()(const SystemState& state) {
  for (std::uint32_t chunk = 0; chunk < held_.chunks(); ++chunk) {
    for (const Contributors wanted : classes_) {
      pure_.clear();
      for (const StateId device : state) {
        const Contributors held = held_.by_chunk(device)[chunk];
        if (held != 0 && (held & ~wanted) == 0) pure_.push_back(held);
      }
      if (!min_exact_cover(wanted, pure_)) return false;
    }
  }
  return true;
}

CostLowerBound::CostLowerBound(const StateTable& states, const std::vector<Group>& classes,
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

bool CostLowerBound::add(const SystemState& state, std::uint32_t chunk, Contributors wanted,
                         Remaining& remaining) {
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
  const std::optional<std::uint32_t> pieces = min_exact_cover(wanted, pure_);
  if (!pieces) return false;
  if (open == 0) return true;
  const std::int64_t size = std::popcount(wanted);
  while ((most * sum << remaining.rounds) < size * size * size) ++remaining.rounds;
  remaining.volume += *pieces - 1 + open - (*pieces > 1 ? 1 : 0);
  for (std::size_t link = 0; link < links_.size(); ++link) {
    Contributors inside = 0;
    Contributors outside = 0;
    for (std::size_t device = 0; device < state.size(); ++device) {
      ((links_[link].devices >> device & 1U) != 0 ? inside : outside) |= pure_[device];
    }
    if ((wanted & links_[link].devices) != 0 && inside != wanted) ++remaining.flows[link];
    if ((wanted & ~links_[link].devices) != 0 && outside != wanted) ++remaining.flows[link];
  }
  return true;
}

std::optional<Cost> CostLowerBound::operator()(const SystemState& state) {
  const auto devices = static_cast<std::int64_t>(state.size());
  Remaining remaining{1, 0, std::vector<std::int64_t>(links_.size(), 0)};
  std::int64_t most = 0;  // of one chunk
  for (std::uint32_t chunk = 0; chunk < held_.chunks(); ++chunk) {
    const std::int64_t before = remaining.volume;
    for (const Contributors wanted : classes_) {
      if (!add(state, chunk, wanted, remaining)) return std::nullopt;
    }
    most = std::max(most, remaining.volume - before);
  }
  if (remaining.volume == 0) return Cost();
  std::vector<Charge> charges = {
      {remaining.rounds, 0},
      {std::max<std::int64_t>(1, 2 * most / devices), {remaining.volume, devices * devices}}};
  for (std::size_t link = 0; link < links_.size(); ++link) {
    charges.push_back({1, Rational(remaining.flows[link] * links_[link].slowdown, 2 * devices)});
  }
  return Cost(std::move(charges));
}

}  // namespace p2::claims
