#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "engine/program/beginning.h"
#include "engine/program/instance.h"

namespace p2 {

/// One thing a program may do in a step: a collective on the groups of a pattern.
struct Move {
  Pattern pattern;
  Collective collective = Collective::AllReduce;

  auto operator<=>(const Move&) const = default;
};

/// A synthesis problem with everything stripped off that cannot change its answer: the grid of
/// devices that has to be simulated, the number of chunks, the factors reduced over and the moves
/// in the order in which they are tried. Problems that are equal have, on the same terms, the same
/// programs, move by move.
///
/// Where no move touches a factor outside the reduction axes ((d), collapsed, lattice), one
/// reduction class is simulated with the chunks of the whole system. This loses nothing: device ids
/// are mixed radix, so that fixing the other digits keeps the order inside a class; all classes
/// begin alike, and collectives treat contributors alike; every group lies inside one class, and
/// since nothing outside the reduction factors is reduced or pinned, every pattern forms the same
/// groups in each of them. Hence the classes' states stay equal up to the renaming of contributors.
struct Problem {
  std::vector<Factor> factors;     ///< simulated digits, outermost first; axis and level are left 0
  std::uint32_t devices = 1;       ///< simulated
  std::uint32_t contributors = 1;  ///< devices of the whole system
  Beginning beginning;
  FactorSet reduction = 0;
  std::vector<Move> moves;

  std::uint32_t chunks() const { return contributors * beginning.chunks_per_device; }
  auto operator<=>(const Problem&) const = default;
};

/// The problem of an instance, and which of the hierarchy's shapes each move stands for.
struct NamedProblem {
  Problem problem;
  std::vector<GroupShape> shapes;       ///< of the instance's hierarchy
  std::vector<std::uint32_t> shape_of;  ///< move → index into `shapes`
};

/// Moves are ordered by shape (see all_shapes), then by collective.
NamedProblem state_problem(const Instance& instance, Dialect dialect,
                           const CollectiveSet& collectives = {}, const Beginning& beginning = {});

}  // namespace p2
