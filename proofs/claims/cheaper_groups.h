#pragma once

#include "proofs/claims/best_programs.h"
#include "proofs/claims/cost_model.h"

namespace p2::claims {

/// An answer about costs, and what it rests on.
struct CostAnswer {
  Answer answer;
  LatencyBandwidth network;
  /// No program of any length costs less than the least of these.
  std::vector<ProgramFile> programs;
  bool any_length = false;
  /// What they are compared with: hierarchies, and the best programs over them.
  std::vector<Instance> hierarchies;
  std::vector<ProgramFile> over_hierarchies;
};

/// No valid program over any disjoint groups is cheaper, for any α : β, than all programs over
/// hierarchies. Undecided on more than 6 devices.
CostAnswer no_groups_are_cheaper(const Subject& subject, const Bounds& bounds, CostModel model);

/// No valid program over any disjoint groups is cheaper, for any α : β, than all those whose groups
/// stay in their classes, which need not be those of a placement. At most 6 devices.
CostAnswer no_mixing_is_cheaper(std::uint32_t devices, const std::vector<Group>& classes,
                                const LatencyBandwidth& network, const Bounds& bounds);

/// No program over the lattice is cheaper, for any α : β, than all over (d) and over collapsed.
CostAnswer lattice_gains_nothing(const Subject& subject, const Bounds& bounds, CostModel model);

}  // namespace p2::claims
