#include "proofs/claims/simulation.h"

#include <fmt/format.h>

#include "engine/invariant.h"
#include "engine/program/notation.h"
#include "proofs/claims/frontier.h"
#include "proofs/claims/machine.h"

namespace p2::claims {
namespace {

/// A system and the groups of every move on it.
struct Twin {
  Machine machine;
  std::vector<std::vector<Group>> groups;  ///< by move
};

Twin on_system(const Subject& subject) {
  Twin twin{Machine(subject.from.grid.devices(), subject.from.classes()), {}};
  for (const Move& move : subject.moves) {
    twin.groups.push_back(subject.from.grid.groups(move.pattern.reduced, move.pattern.pinned));
  }
  return twin;
}

Answer refuted_by(const Subject& subject, std::vector<std::uint32_t> way, std::uint32_t move,
                  std::string why) {
  way.push_back(move);
  const auto steps = static_cast<std::uint32_t>(way.size());
  return {Outcome::Refuted, steps, to_string(subject.steps(way), &subject.from), steps,
          std::move(why)};
}

/// Visits every reachable state of one system and every move; `judge(before, move, after)`, with
/// `after` only of a legal move, says what is wrong, if anything is.
template <typename Judge>
Answer for_every_step(const Subject& subject, const Bounds& bounds, Judge judge) {
  Twin twin = on_system(subject);
  Frontier frontier(twin.machine.initial());
  for (std::size_t node = 0; node < frontier.nodes(); ++node) {
    if (frontier.depth(node) == bounds.size) break;
    if (bounds.limits.exceeded(frontier.bytes())) {
      return {Outcome::Undecided, frontier.depth(node), {}, 0, {}};
    }
    const SystemState before = frontier.key(node);
    if (before == twin.machine.goal()) continue;
    for (std::uint32_t move = 0; move < subject.moves.size(); ++move) {
      SystemState after = before;
      if (!twin.machine.run(subject.moves[move].collective, twin.groups[move], after)) continue;
      const std::string why = judge(twin, before, move, after);
      if (!why.empty()) return refuted_by(subject, frontier.way(node), move, why);
      frontier.reach(node, move, after);
    }
  }
  return {Outcome::Holds, bounds.size, {}, 0, {}};
}

std::pair<std::uint64_t, std::uint64_t> information(const Machine& machine,
                                                    const SystemState& state) {
  return {machine.contributions(state), ~machine.chunks(state)};
}

/// Whether `first` and then `second` are legal and lead to `expected`.
bool leads_to(Machine& machine, const std::vector<Group>& groups, SystemState state,
              Collective first, Collective second, const SystemState& expected) {
  return machine.run(first, groups, state) && machine.run(second, groups, state) &&
         state == expected;
}

std::string decomposition_fault(Twin& twin, const SystemState& before,
                                const std::vector<Group>& groups, const SystemState& after) {
  if (!leads_to(twin.machine, groups, before, Collective::Reduce, Collective::Broadcast, after)) {
    return "Reduce; Broadcast does not do the same";
  }
  SystemState scattered = before;
  const bool divisible = twin.machine.run(Collective::ReduceScatter, groups, scattered);
  if (divisible && !leads_to(twin.machine, groups, before, Collective::ReduceScatter,
                             Collective::AllGather, after)) {
    return "ReduceScatter; AllGather does not do the same";
  }
  return {};
}

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
        return refuted_by(subject, frontier.way(node), move,
                          legal ? "the last step is legal here only"
                                : "the last step is legal on the other system only");
      }
      if (!legal) continue;
      if ((after == own.machine.goal()) != (after_other == other.machine.goal())) {
        return refuted_by(subject, frontier.way(node), move, "one of the two is at its goal");
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

Answer information_increases(const Subject& subject, const Bounds& bounds) {
  return for_every_step(subject, bounds,
                        [](Twin& twin, const SystemState& before, std::uint32_t,
                           const SystemState& after) -> std::string {
                          const bool rises =
                              information(twin.machine, before) < information(twin.machine, after);
                          return rises ? "" : "the last step raises nothing";
                        });
}

Answer composes(const Subject& subject, const Bounds& bounds) {
  return for_every_step(subject, bounds,
                        [&](Twin& twin, const SystemState& before, std::uint32_t move,
                            const SystemState& after) -> std::string {
                          if (subject.moves[move].collective != Collective::AllReduce) return {};
                          return decomposition_fault(twin, before, twin.groups[move], after);
                        });
}

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
