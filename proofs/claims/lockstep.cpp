#include <fmt/format.h>

#include "engine/base/invariant.h"
#include "proofs/claims/frontier.h"
#include "proofs/claims/simulation.h"
#include "proofs/claims/twin.h"

namespace p2::claims {
namespace {

using Pair = Frontier::Key;

Pair joined(const SystemState& a, const SystemState& b) {
  Pair pair = a;
  pair.insert(pair.end(), b.begin(), b.end());
  return pair;
}

/// Runs the moves on both at once for as long as both find them legal.
Answer in_lockstep(const Subject& subject, const Bounds& bounds, Twin& own, Twin& other) {
  const auto devices = static_cast<std::ptrdiff_t>(own.machine.initial().size());
  Frontier frontier(joined(own.machine.initial(), other.machine.initial()));
  for (std::size_t node = 0; node < frontier.nodes(); ++node) {
    if (frontier.depth(node) == bounds.size) break;
    if (bounds.limits.exceeded(frontier.bytes())) {
      return {Outcome::Undecided, frontier.depth(node), {}, 0, {}};
    }
    const Pair pair = frontier.key(node);
    const SystemState before(pair.begin(), pair.begin() + devices);
    const SystemState before_other(pair.begin() + devices, pair.end());
    if (before == own.machine.goal()) continue;
    for (std::uint32_t move = 0; move < subject.moves.size(); ++move) {
      const Collective collective = subject.moves[move].collective;
      SystemState after = before;
      SystemState after_other = before_other;
      const bool legal = own.machine.run(collective, own.groups[move], after);
      const bool legal_other = other.machine.run(collective, other.groups[move], after_other);
      if (legal != legal_other) {
        return refuted_on(subject, frontier.way(node), move,
                          legal ? "the last step is legal here only"
                                : "the last step is legal on the other system only");
      }
      if (!legal) continue;
      if ((after == own.machine.goal()) != (after_other == other.machine.goal())) {
        return refuted_on(subject, frontier.way(node), move, "one of the two is at its goal");
      }
      frontier.reach(node, move, joined(after, after_other));
    }
  }
  return {Outcome::Holds, bounds.size, {}, 0, {}};
}

std::vector<std::uint32_t> sizes_of(const std::vector<Factor>& factors) {
  std::vector<std::uint32_t> sizes;
  for (const Factor& factor : factors) sizes.push_back(factor.size);
  return sizes;
}

/// A grid with these factors, outermost first, and no other structure.
DeviceGrid plain_grid(const std::vector<std::uint32_t>& sizes) {
  std::vector<Level> levels;
  std::uint32_t devices = 1;
  for (const std::uint32_t size : sizes) {
    levels.push_back({fmt::format("f{}", levels.size()), size});
    devices *= size;
  }
  return {Hierarchy(levels, {"factors"}), Axes({{"all", devices}}, {"factors"}), {{sizes}}};
}

Twin on_factors(const std::vector<std::uint32_t>& sizes, FactorSet reduction,
                const std::vector<Move>& moves) {
  const DeviceGrid grid = plain_grid(sizes);
  Twin twin{Machine(grid.devices(), grid.groups(reduction, 0)), {}};
  for (const Move& move : moves) {
    twin.groups.push_back(grid.groups(move.pattern.reduced, move.pattern.pinned));
  }
  return twin;
}

}  // namespace

Answer class_independent(const Subject& subject, const Bounds& bounds) {
  const Problem& problem = subject.named.problem;
  invariant(subject.from.hierarchy.confined_to_reduction(), "instructions reach across classes");
  Twin own = on_system(subject);
  Twin alone = on_factors(sizes_of(problem.factors), problem.reduction, problem.moves);
  return in_lockstep(subject, bounds, own, alone);
}

Answer size_independent(const Subject& subject, const Bounds& bounds) {
  Twin own = on_system(subject);
  const std::vector<std::uint32_t> twos(subject.from.grid.factors().size(), 2);
  Twin small = on_factors(twos, subject.reduction(), subject.moves);
  return in_lockstep(subject, bounds, own, small);
}

}  // namespace p2::claims
