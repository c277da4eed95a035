#include "proofs/definition/exploration.h"

#include "proofs/definition/violation.h"

namespace p2::definition {
namespace {

using language::GroupState;

/// Whether a state with `held` contributions is smaller than what was found so far.
bool smaller(std::uint32_t held, const std::optional<GroupState>& found) {
  return !found || held < amount(*found);
}

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
  const bool all = shape.bits() <= kMostBitsOfAll;
  seen.complete = for_each_state(shape, all, scope.seed, scope.limits, visit) && all;
  return seen;
}

}  // namespace

std::vector<Exploration> explore(const language::Definition& definition, const Scope& scope) {
  std::vector<Exploration> seen;
  for (std::uint32_t n = kLeastGroup; n <= scope.most_group; ++n) {
    for (const Shape& shape : shapes_of(n)) seen.push_back(explore(definition, shape, scope));
  }
  return seen;
}

}  // namespace p2::definition
