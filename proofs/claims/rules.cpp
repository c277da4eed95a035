#include "proofs/claims/statements.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/base/invariant.h"
#include "engine/collective/language/definition.h"
#include "engine/program/program.h"
#include "engine/program/synthesis.h"
#include "proofs/claims/claim.h"
#include "proofs/claims/search.h"
#include "proofs/definition/every_size.h"
#include "proofs/definition/examination.h"

namespace p2::claims {
namespace {

/// A system and the groups of every move on it.
struct GroupedSystem {
  Simulator simulator;
  std::vector<std::vector<Group>> groups;  ///< by move
};

GroupedSystem grouped_system(const Subject& subject) {
  GroupedSystem system{Simulator(subject.from.grid.devices(), subject.from.classes()), {}};
  for (const Move& move : subject.moves) {
    system.groups.push_back(subject.from.grid.groups(move.pattern.reduced, move.pattern.pinned));
  }
  return system;
}

/// The counterexample of the moves on `path` to a state and then `move`.
Settlement refuted_after(const Subject& subject, std::vector<std::uint32_t> path,
                         std::uint32_t move, std::string why) {
  path.push_back(move);
  const auto steps = static_cast<std::uint32_t>(path.size());
  return {Outcome::Refuted, steps, to_string(subject.steps(path), &subject.from), steps,
          std::move(why)};
}

/// Breadth-first search over the reachable states; `find_fault(system, before, move, after)`
/// returns what is wrong with a legal step, or nothing.
template <typename FindFault>
Settlement check_every_step(const Subject& subject, const Bounds& bounds, FindFault find_fault) {
  GroupedSystem system = grouped_system(subject);
  BreadthFirstTree tree(system.simulator.initial());
  for (std::size_t node = 0; node < tree.nodes(); ++node) {
    if (tree.depth(node) == bounds.size) break;
    if (bounds.limits.exceeded(tree.bytes())) {
      return undecided(tree.depth(node));
    }
    const SystemState before = tree.key(node);
    if (before == system.simulator.goal()) continue;
    for (std::uint32_t move = 0; move < subject.moves.size(); ++move) {
      SystemState after = before;
      if (!system.simulator.run(subject.moves[move].collective, system.groups[move], after))
        continue;
      const std::string why = find_fault(system, before, move, after);
      if (!why.empty()) return refuted_after(subject, tree.path(node), move, why);
      tree.reach(node, move, after);
    }
  }
  return established(bounds);
}

std::pair<std::uint64_t, std::uint64_t> information(const Simulator& simulator,
                                                    const SystemState& state) {
  return {simulator.contributions(state), ~simulator.chunks(state)};
}

/// Whether `first` and then `second` are legal and lead to `expected`.
bool leads_to(Simulator& simulator, const std::vector<Group>& groups, SystemState state,
              Collective first, Collective second, const SystemState& expected) {
  return simulator.run(first, groups, state) && simulator.run(second, groups, state) &&
         state == expected;
}

std::string decomposition_fault(GroupedSystem& system, const SystemState& before,
                                const std::vector<Group>& groups, const SystemState& after) {
  if (!leads_to(system.simulator, groups, before, Collective::Reduce, Collective::Broadcast,
                after)) {
    return "Reduce; Broadcast does not do the same";
  }
  SystemState scattered = before;
  const bool scatters = system.simulator.run(Collective::ReduceScatter, groups, scattered);
  if (scatters && !leads_to(system.simulator, groups, before, Collective::ReduceScatter,
                            Collective::AllGather, after)) {
    return "ReduceScatter; AllGather does not do the same";
  }
  return {};
}

/// Runs the collective on one group with the states of two of its devices exchanged. Broadcast
/// keeps its first device, from which it sends.
std::string exchange_fault(GroupedSystem& system, const SystemState& before, Collective collective,
                           const Group& group, const SystemState& after) {
  const std::size_t first = collective == Collective::Broadcast ? 1 : 0;
  for (std::size_t a = first; a < group.size(); ++a) {
    for (std::size_t b = a + 1; b < group.size(); ++b) {
      SystemState state = before;
      std::swap(state[group[a]], state[group[b]]);
      const bool same = system.simulator.run(collective, {group}, state) &&
                        std::all_of(group.begin(), group.end(), [&](std::uint32_t device) {
                          return state[device] == after[device];
                        });
      if (!same) {
        return fmt::format("not the same with devices {} and {} exchanged", group[a], group[b]);
      }
    }
  }
  return {};
}

}  // namespace

Settlement information_increases(const Subject& subject, const Bounds& bounds) {
  return check_every_step(subject, bounds,
                          [](GroupedSystem& system, const SystemState& before, std::uint32_t,
                             const SystemState& after) -> std::string {
                            const bool rises = information(system.simulator, before) <
                                               information(system.simulator, after);
                            return rises ? "" : "the last step raises nothing";
                          });
}

Settlement composes(const Subject& subject, const Bounds& bounds) {
  return check_every_step(subject, bounds,
                          [&](GroupedSystem& system, const SystemState& before, std::uint32_t move,
                              const SystemState& after) -> std::string {
                            if (subject.moves[move].collective != Collective::AllReduce) return {};
                            return decomposition_fault(system, before, system.groups[move], after);
                          });
}

Settlement order_does_not_matter(const Subject& subject, const Bounds& bounds) {
  return check_every_step(subject, bounds,
                          [&](GroupedSystem& system, const SystemState& before, std::uint32_t move,
                              const SystemState& after) {
                            std::string why;
                            for (const Group& group : system.groups[move]) {
                              why = exchange_fault(system, before, subject.moves[move].collective,
                                                   group, after);
                              if (!why.empty()) break;
                            }
                            return why;
                          });
}

namespace {

using Pair = BreadthFirstTree::Key;  // the states of both, one after the other

Pair joined(const SystemState& a, const SystemState& b) {
  Pair pair = a;
  pair.insert(pair.end(), b.begin(), b.end());
  return pair;
}

/// Whether the two systems are bisimilar: breadth-first search over pairs of states, along the
/// moves that are legal on both.
Settlement check_bisimulation(const Subject& subject, const Bounds& bounds, GroupedSystem& own,
                              GroupedSystem& other) {
  const auto devices = static_cast<std::ptrdiff_t>(own.simulator.initial().size());
  BreadthFirstTree tree(joined(own.simulator.initial(), other.simulator.initial()));
  for (std::size_t node = 0; node < tree.nodes(); ++node) {
    if (tree.depth(node) == bounds.size) break;
    if (bounds.limits.exceeded(tree.bytes())) {
      return undecided(tree.depth(node));
    }
    const Pair pair = tree.key(node);
    const SystemState before(pair.begin(), pair.begin() + devices);
    const SystemState before_other(pair.begin() + devices, pair.end());
    if (before == own.simulator.goal()) continue;
    for (std::uint32_t move = 0; move < subject.moves.size(); ++move) {
      const Collective collective = subject.moves[move].collective;
      SystemState after = before;
      SystemState after_other = before_other;
      const bool legal = own.simulator.run(collective, own.groups[move], after);
      const bool legal_other = other.simulator.run(collective, other.groups[move], after_other);
      if (legal != legal_other) {
        return refuted_after(subject, tree.path(node), move,
                             legal ? "the last step is legal here only"
                                   : "the last step is legal on the other system only");
      }
      if (!legal) continue;
      if ((after == own.simulator.goal()) != (after_other == other.simulator.goal())) {
        return refuted_after(subject, tree.path(node), move, "one of the two is at its goal");
      }
      tree.reach(node, move, joined(after, after_other));
    }
  }
  return established(bounds);
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

GroupedSystem system_of_factors(const std::vector<std::uint32_t>& sizes, FactorSet reduction,
                                const std::vector<Move>& moves) {
  const DeviceGrid grid = plain_grid(sizes);
  GroupedSystem system{Simulator(grid.devices(), grid.groups(reduction, 0)), {}};
  for (const Move& move : moves) {
    system.groups.push_back(grid.groups(move.pattern.reduced, move.pattern.pinned));
  }
  return system;
}

}  // namespace

Settlement class_independent(const Subject& subject, const Bounds& bounds) {
  const Problem& problem = subject.named.problem;
  invariant(subject.from.hierarchy.confined_to_reduction(), "instructions reach across classes");
  GroupedSystem own = grouped_system(subject);
  GroupedSystem alone =
      system_of_factors(sizes_of(problem.factors), problem.reduction, problem.moves);
  return check_bisimulation(subject, bounds, own, alone);
}

Settlement size_independent(const Subject& subject, const Bounds& bounds) {
  GroupedSystem own = grouped_system(subject);
  const std::vector<std::uint32_t> twos(subject.from.grid.factors().size(), 2);
  GroupedSystem small = system_of_factors(twos, subject.reduction(), subject.moves);
  return check_bisimulation(subject, bounds, own, small);
}

Settlement length_bounded(const Subject& subject, const Bounds& bounds) {
  const auto bound = 2 * static_cast<std::size_t>(std::popcount(subject.reduction()));
  const ProgramList list(subject.named.problem, bounds.size, bounds.limits);
  if (list.settled() < bounds.size) return undecided(list.settled());
  std::vector<std::uint32_t> longer;
  std::size_t longest = 0;
  list.for_each([&](std::span<const std::uint32_t> moves) {
    longest = moves.size();  // by increasing size
    if (longest > bound && longer.empty()) longer.assign(moves.begin(), moves.end());
  });
  if (longer.empty()) return established(bounds, fmt::format("the longest has {} steps", longest));
  return {Outcome::Refuted, bounds.size, to_string(subject.steps(longer), &subject.from),
          longer.size(), fmt::format("more than {} steps", bound)};
}

namespace {

/// Of some programs the number of those that cut at a set of boundaries and nowhere else, and the
/// first of them. Bit b of a set: the boundary below level b.
struct CutCount {
  std::uint64_t programs = 0;
  std::vector<std::uint32_t> first;
};
using CutCounts = std::map<std::uint32_t, CutCount>;

/// The boundaries between levels, of which none has size 1, that the groups of a pattern cut.
std::uint32_t boundaries_cut(const Pattern& pattern, const std::vector<FactorSet>& levels) {
  const auto has = [](FactorSet set, FactorSet level) { return (set & level) != 0; };
  std::uint32_t cuts = 0;
  for (std::size_t b = 0; b + 1 < levels.size(); ++b) {
    if (has(pattern.reduced, levels[b]) != has(pattern.reduced, levels[b + 1]) ||
        has(pattern.pinned, levels[b]) != has(pattern.pinned, levels[b + 1])) {
      cuts |= 1U << b;
    }
  }
  return cuts;
}

std::vector<FactorSet> levels_above_one(const Instance& instance) {
  std::vector<FactorSet> levels;
  for (const SynthesisLevel& level : instance.hierarchy.levels()) {
    if (level.factors != 0) levels.push_back(level.factors);
  }
  return levels;
}

/// Nothing if a limit is reached.
std::optional<CutCounts> count_by_cuts(const Subject& subject, const Bounds& bounds) {
  const ProgramList list(subject.named.problem, bounds.size, bounds.limits);
  if (list.settled() < bounds.size) return std::nullopt;
  const std::vector<FactorSet> levels = levels_above_one(subject.from);
  CutCounts counts;
  list.for_each([&](std::span<const std::uint32_t> moves) {
    std::uint32_t cuts = 0;
    for (const std::uint32_t move : moves) {
      cuts |= boundaries_cut(subject.moves[move].pattern, levels);
    }
    CutCount& count = counts[cuts];
    if (count.programs++ == 0) count.first.assign(moves.begin(), moves.end());
  });
  return counts;
}

}  // namespace

Settlement coarsens(const Subject& subject, const Bounds& bounds) {
  const std::size_t levels = levels_above_one(subject.from).size();
  auto counts = count_by_cuts(subject, bounds);
  if (!counts) return undecided(0);
  std::vector<std::uint64_t> everywhere;  // by number of cuts
  for (std::size_t cuts = 0; cuts < levels; ++cuts) {
    const Subject twos({plain_grid(std::vector<std::uint32_t>(cuts + 1, 2)), {0}},
                       HierarchyKind::Reduction, std::nullopt, subject.dialect);
    auto of_twos = count_by_cuts(twos, bounds);
    if (!of_twos) return undecided(0);
    everywhere.push_back((*of_twos)[(1U << cuts) - 1].programs);
  }
  for (std::uint32_t cuts = 0; levels > 0 && cuts < 1U << (levels - 1); ++cuts) {
    const CutCount& found = (*counts)[cuts];
    const std::uint64_t expected = everywhere[static_cast<std::size_t>(std::popcount(cuts))];
    if (found.programs == expected) continue;
    return {Outcome::Refuted, bounds.size, to_string(subject.steps(found.first), &subject.from),
            found.first.size(),
            fmt::format("{} programs cut as this one, {} expected", found.programs, expected)};
  }
  return established(bounds);
}

namespace {

constexpr std::uint32_t kMaxGroup = 4;

}  // namespace

Settlement rules_are_adequate(const Subject&, const Bounds& bounds) {
  using definition::Carrier;
  for (const Carrier carrier : {Carrier::AnyMonoid, Carrier::Integers, Carrier::Words}) {
    for (const auto& part : definition::sum_obligations(bounds.limits, {}, carrier)) {
      if (!part.proved) return undecided(0, "not proved: " + part.name);
    }
  }
  for (const language::Definition& definition : language::built_in_definitions()) {
    if (!definition::row_is_number(definition, bounds.limits)) {
      return undecided(0, "not proved for " + definition.name);
    }
  }
  return established(bounds,
                     "groups of every size, by induction; and for integers and 32-bit words");
}

Settlement composes_as_triples(const Subject&, const Bounds& bounds) {
  std::vector<const language::Definition*> known;
  for (const language::Definition& each : language::built_in_definitions()) known.push_back(&each);
  definition::Scope scope;
  scope.max_group = kMaxGroup;
  scope.limits = bounds.limits;
  const definition::Relations relations =
      definition::find_relations(language::built_in("AllReduce"), known, scope);
  if (!relations.decided || !relations.differences.empty())
    return undecided(0, "a limit was reached");
  std::string found;
  for (const char* parts : {"= Reduce; Broadcast", "= ReduceScatter; AllGather"}) {
    const auto matches = [&](const definition::Relation& relation) {
      return definition::to_string(relation).starts_with(parts);
    };
    const auto relation = std::ranges::find_if(relations.found, matches);
    if (relation == relations.found.end()) {
      return {Outcome::Refuted, 0, {}, 0, fmt::format("AllReduce is not {}", parts + 2)};
    }
    found += (found.empty() ? "" : ", ") + definition::to_string(*relation);
  }
  return established(bounds, fmt::format("groups of 2 to {}: AllReduce {}", kMaxGroup, found));
}

}  // namespace p2::claims
