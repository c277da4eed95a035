#pragma once

#include "proofs/claims/claim.h"

namespace p2::claims {

/// Claims about the definitions of the five collectives (engine/collective/*.p2c), whatever the
/// system: what is said of the subject is not looked at.

/// The rules of rows are right for sums in any commutative monoid, for groups of every size:
/// proofs/definition/adequacy.h.
Answer rules_are_adequate(const Subject& subject, const Bounds& bounds);

/// As triples, in every state of a group of 2 to 4 devices and not only in those that programs
/// reach: AllReduce = Reduce; Broadcast, and AllReduce = ReduceScatter; AllGather where these are
/// defined.
Answer composes_as_triples(const Subject& subject, const Bounds& bounds);

}  // namespace p2::claims
