#pragma once

#include "proofs/claims/cheapest.h"
#include "proofs/claims/cost_model.h"

namespace p2::claims {

/// Moves over the factors of a grid with their groups.
std::vector<BareMove> bare_moves(const DeviceGrid& grid, const std::vector<Move>& moves);

/// What the programs over synthesis hierarchies cost at least, for every α : β: over all kinds of
/// hierarchies of every placed system of so many devices whose reduction classes are these, priced
/// on `network`. Programs of at most bounds.size steps.
struct BestOverHierarchies {
  CostFront front;
  std::uint32_t settled = 0;  ///< for programs of at most so many steps
};
BestOverHierarchies best_over_hierarchies(std::uint32_t devices, const std::vector<Group>& classes,
                                          Dialect dialect, const LatencyBandwidth& network,
                                          const Bounds& bounds);

/// No valid program over any disjoint groups is cheaper, for any α : β, than all programs over
/// hierarchies. Undecided on more than 6 devices.
Answer no_groups_are_cheaper(const Subject& subject, const Bounds& bounds, CostModel model);

/// No program over the lattice is cheaper, for any α : β, than all over (d) and over collapsed.
Answer lattice_gains_nothing(const Subject& subject, const Bounds& bounds, CostModel model);

}  // namespace p2::claims
