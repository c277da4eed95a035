#pragma once

#include <optional>
#include <vector>

#include "engine/program/program.h"
#include "engine/program/problem.h"
#include "proofs/claims/placed_system.h"

namespace p2::claims {

/// What a claim is asked about on one placed system: the hierarchy whose programs it speaks of and,
/// where it compares two, the one they are to be expressed over.
struct Subject {
  Subject(const PlacedSystem& system, HierarchyKind from_kind, std::optional<HierarchyKind> to_kind,
          Dialect rules);

  Instance from;
  std::optional<Instance> to;
  Dialect dialect;
  NamedProblem named;       ///< of `from`: its instructions are named.problem.moves
  std::vector<Move> moves;  ///< the same, their patterns in the factors of the whole grid

  const GroupShape& shape(std::size_t move) const { return named.shapes[named.shape_of[move]]; }
  FactorSet reduction() const { return from.grid.factors_of(from.reduction); }
  /// The steps of a program given by its moves, without groups.
  std::vector<Step> steps(const std::vector<std::uint32_t>& program) const;
};

/// The instructions of an instance as moves over the factors of the whole grid, ascending. Two
/// instructions form the same groups exactly if their patterns are equal: every factor is greater
/// than 1, so a group shows which factors it varies over and the set of groups which are pinned.
std::vector<Move> instructions(const Instance& instance, Dialect dialect);

}  // namespace p2::claims
