#include "engine/program/problem.h"

#include "engine/base/invariant.h"

namespace p2 {
namespace {

/// Renumbers the factors of `set` as they stand among those kept.
FactorSet among(FactorSet set, FactorSet kept) {
  FactorSet renumbered = 0;
  for (std::uint32_t f = 0, next = 0; kept >> f != 0; ++f) {
    if ((kept >> f & 1U) == 0) continue;
    renumbered |= (set >> f & 1U) << next++;
  }
  return renumbered;
}

void simulate(const DeviceGrid& grid, FactorSet kept, Problem& problem) {
  for (std::size_t f = 0; f < grid.factors().size(); ++f) {
    if ((kept >> f & 1U) != 0) problem.factors.push_back({0, 0, grid.factors()[f].size, 1});
  }
  for (auto factor = problem.factors.rbegin(); factor != problem.factors.rend(); ++factor) {
    factor->stride = problem.devices;
    problem.devices *= factor->size;
  }
}

}  // namespace

NamedProblem state_problem(const Instance& instance, Dialect dialect,
                           const CollectiveSet& collectives, const Beginning& beginning) {
  const DeviceGrid& grid = instance.grid;
  const FactorSet reduction = grid.factors_of(instance.reduction);
  const FactorSet kept =
      instance.hierarchy.confined_to_reduction() ? reduction : grid.all_factors();
  NamedProblem named;
  simulate(grid, kept, named.problem);
  named.problem.contributors = grid.devices();
  named.problem.beginning = beginning;
  named.problem.reduction = among(reduction, kept);
  named.shapes = all_shapes(instance.hierarchy);
  const std::vector<Collective> all = collectives.all();
  for (std::uint32_t i = 0; i < named.shapes.size(); ++i) {
    const Pattern& whole = named.shapes[i].pattern;
    invariant(((whole.reduced | whole.pinned) & ~kept) == 0, "a shape reaches outside its class");
    const Pattern pattern{among(whole.reduced, kept), among(whole.pinned, kept)};
    for (const Collective collective : all) {
      if (!allows(dialect, pattern, collective)) continue;
      named.problem.moves.push_back({pattern, collective});
      named.shape_of.push_back(i);
    }
  }
  return named;
}

}  // namespace p2
