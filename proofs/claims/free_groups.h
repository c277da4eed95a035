#pragma once

#include "proofs/claims/claim.h"
#include "proofs/claims/cost_model.h"

namespace p2::claims {

/// The questions of arbitrary_groups.h and cheaper_groups.h put to Z3, whose formulas share the
/// definitions of the collectives with the interpreter here and nothing else. A program that Z3
/// finds is run again.

/// Whether only programs of at least four steps mix classes. Undecided on more than 4 devices, or
/// 6 if bounds.deep.
Answer mixing_takes_four_steps_by_z3(const Subject& subject, const Bounds& bounds);

/// The question of smallest_mixing_program, whatever the number of devices: callers keep it small.
Answer smallest_mixing_program_by_z3(std::uint32_t devices, const std::vector<Group>& classes,
                                     const Bounds& bounds);

/// Whether a program over any disjoint groups is cheaper than all over hierarchies, on the
/// homogeneous network: at α = 0, at β = 0 and at every α : β at which the cheapest over
/// hierarchies gives way to another. Undecided on more than 4 devices, or 6 if bounds.deep.
Answer no_groups_are_cheaper_by_z3(const Subject& subject, const Bounds& bounds);

}  // namespace p2::claims
