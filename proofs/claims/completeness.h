#pragma once

#include "encodings/cnf/absence.h"
#include "proofs/claims/claim.h"

namespace p2::claims {

/// That the enumerator's list of the valid programs over `from` lacks none, asked of clauses.
struct ListedAll {
  Answer answer;
  cnf::AbsenceProof proof;  ///< where the claim holds
};
ListedAll list_and_refute_others(const Subject& subject, const Bounds& bounds);

Answer synthesis_complete(const Subject& subject, const Bounds& bounds);

}  // namespace p2::claims
