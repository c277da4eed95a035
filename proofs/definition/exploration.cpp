#include "proofs/definition/exploration.h"

#include <random>

#include "proofs/definition/claim.h"

namespace p2::definition {
namespace {

using language::GroupState;

/// Random states in which a premise of the usual kinds has a chance to hold.
class Samples {
 public:
  Samples(const Shape& shape, std::uint64_t seed) : shape_(shape), random_(seed) {}

  GroupState next(std::uint32_t number) {
    switch (number % 5) {
      case 0:
        return anything();
      case 1:
        return contributions_dealt();
      case 2:
        return chunks_dealt();
      case 3:
        return root_above(false);
      default:
        return root_above(true);
    }
  }

 private:
  // Not std::uniform_int_distribution, whose numbers differ between standard libraries.
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  GroupState empty() const { return {shape_.devices, shape_.chunks, shape_.contributors}; }

  GroupState anything();
  GroupState contributions_dealt();
  GroupState chunks_dealt();
  GroupState root_above(bool root_alone);

  Shape shape_;
  std::mt19937_64 random_;
};

GroupState Samples::anything() {
  GroupState state = empty();
  const std::uint32_t density = 1 + below(4);
  for (std::uint32_t i = 0; i < shape_.devices; ++i) {
    for (std::uint32_t r = 0; r < shape_.chunks; ++r) {
      for (std::uint32_t c = 0; c < shape_.contributors; ++c) {
        state.set(i, r, c, below(density + 1) == 0);
      }
    }
  }
  return state;
}

/// In most chunks every device has a contribution of its own; further ones go to somebody or
/// nobody.
GroupState Samples::contributions_dealt() {
  GroupState state = empty();
  const std::uint32_t spared = below(shape_.chunks);
  for (std::uint32_t r = 0; r < shape_.chunks; ++r) {
    if (r < spared && below(2) == 0) continue;
    const std::uint32_t turn = below(shape_.devices);
    for (std::uint32_t c = 0; c < shape_.contributors; ++c) {
      const std::uint32_t owner =
          c < shape_.devices ? (c + turn) % shape_.devices : below(shape_.devices + 1);
      if (owner < shape_.devices) state.set(owner, r, c, true);
    }
  }
  return state;
}

/// Every chunk has one owner: in turn, in blocks, or at random.
GroupState Samples::chunks_dealt() {
  GroupState state = empty();
  const std::uint32_t order = below(3);
  for (std::uint32_t r = 0; r < shape_.chunks; ++r) {
    const std::uint32_t owners[] = {r % shape_.devices, r * shape_.devices / shape_.chunks,
                                    below(shape_.devices)};
    state.set(owners[order], r, below(shape_.contributors), true);
    state.set(owners[order], r, below(shape_.contributors), true);
  }
  return state;
}

GroupState Samples::root_above(bool root_alone) {
  GroupState state = empty();
  for (std::uint32_t r = 0; r < shape_.chunks; ++r) {
    const bool held = below(4) > 0;
    for (std::uint32_t c = 0; c < shape_.contributors; ++c) {
      if (!held || below(2) == 0) continue;
      state.set(0, r, c, true);
      for (std::uint32_t i = 1; i < shape_.devices; ++i) {
        state.set(i, r, c, !root_alone && below(2) == 0);
      }
    }
  }
  return state;
}

}  // namespace

bool for_each_state(const Shape& shape, bool all, std::uint64_t seed, const Limits& limits,
                    const std::function<void(const GroupState&)>& visit, std::uint32_t samples) {
  constexpr std::uint64_t kStatesBetweenLooks = 16;
  const std::uint64_t states = all ? std::uint64_t{1} << shape.bits() : samples;
  Samples random(shape, seed);
  for (std::uint64_t number = 0; number < states; ++number) {
    if (number % kStatesBetweenLooks == 0 && limits.exceeded(0)) return false;
    visit(all ? numbered(shape, number) : random.next(static_cast<std::uint32_t>(number)));
  }
  return true;
}

namespace {

using language::GroupState;

/// Whether a state with `held` contributions is smaller than what was found so far.
bool smaller(std::uint32_t held, const std::optional<GroupState>& found) {
  return !found || held < amount(*found);
}

}  // namespace

Exploration explore(const language::Definition& definition, const Shape& shape,
                    const Scope& scope) {
  Exploration seen;
  seen.shape = shape;
  const auto visit = [&](const GroupState& before) {
    const std::optional<Step> step = take(definition, before);
    if (!step) return;
    const std::uint32_t held = amount(before);
    if (smaller(held, seen.legal)) seen.legal = before;
    for (const Claim claim : kClaims) {
      std::optional<GroupState>& found = seen.breaks[index_of(claim)];
      if (smaller(held, found) && violation(claim, *step)) found = before;
    }
  };
  const bool all = shape.bits() <= kMaxEnumeratedBits;
  seen.complete = for_each_state(shape, all, scope.seed, scope.limits, visit) && all;
  return seen;
}

std::vector<Exploration> explore(const language::Definition& definition, const Scope& scope) {
  std::vector<Exploration> seen;
  for (std::uint32_t n = kMinGroup; n <= scope.max_group; ++n) {
    for (const Shape& shape : shapes_of(n)) seen.push_back(explore(definition, shape, scope));
  }
  return seen;
}

}  // namespace p2::definition
