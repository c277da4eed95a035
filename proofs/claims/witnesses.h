#pragma once

#include <vector>

#include "proofs/claims/claim.h"

namespace p2::claims {

/// The instructions that the proofs of appendix B construct, tried out literally.
///
/// Lemma B.1: for every instruction of (a), the one over (b) that the proof names, with x_i0 as the
/// slice; and with the last factor x_im, which is the right one.
Answer first_factor_of_level(const Subject& subject, const Bounds& bounds);
Answer last_factor_of_level(const Subject& subject, const Bounds& bounds);

/// Lemma B.2: for every instruction of form Parallel, its groups counted and measured.
Answer parallel_groups(const Subject& subject, const Bounds& bounds);
/// The proof of lemma B.5: the same for InsideGroup.
Answer inside_groups(const Subject& subject, const Bounds& bounds);

/// Lemma B.7: the moves whose witness over (c) forms other groups. With (e1, e2) covering e_i … e_j
/// on the reduction axis, the proof takes the level before e_i in (c) and e_j; for Master it writes
/// Parallel, which is a claim apart from the one that keeps Master.
std::vector<bool> misses_row_witness(const Subject& subject);
std::vector<bool> misses_row_witness_as_printed(const Subject& subject);
/// The same with a Parallel for an InsideGroup too, as it should be, and nothing said of Master.
std::vector<bool> misses_parallel_witness(const Subject& subject);
/// Lemma B.8: the same over (d).
std::vector<bool> misses_reduction_witness(const Subject& subject);

}  // namespace p2::claims
