#pragma once

#include "proofs/claims/forbidden_moves.h"

namespace p2::claims {

/// The question of smallest_mixing_program put to clauses, for a certificate: whether a valid
/// program of at most `bounds.size` steps over any disjoint groups has a group with devices of
/// several classes. A program that is found is valid, and need not be the shortest.
ByClauses mixing_program_by_clauses(std::uint32_t devices, const std::vector<Group>& classes,
                                    const Bounds& bounds);

/// That there is none, for as many steps, at most `bounds.size`, as a search finds none of;
/// answer.settled says how many. Undecided on more devices than are searched.
ByClauses no_mixing_program_by_clauses(const Subject& subject, const Bounds& bounds);

}  // namespace p2::claims
