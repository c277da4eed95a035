#pragma once

#include "proofs/claims/claim.h"

namespace p2::claims {

/// Lemma B.3 as it is written, for any disjoint groups of devices: no step of a valid program has a
/// group with devices of several reduction classes. Trivial where there is one class; otherwise all
/// sets of disjoint groups are tried, on at most 4 devices. Undecided on more.
Answer groups_stay_in_classes(const Subject& subject, const Bounds& bounds);

}  // namespace p2::claims
