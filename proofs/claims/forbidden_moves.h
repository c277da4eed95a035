#pragma once

#include <memory>
#include <vector>

#include "encodings/cnf/absence.h"
#include "engine/program/program_list.h"
#include "proofs/claims/claim.h"

namespace p2::claims {

/// Claims that hold exactly if no valid program makes a forbidden move, which are marked.

/// By enumeration of all valid programs, kept in `programs` for other claims about the same ones.
Answer settle_by_enumeration(const Subject& subject, const std::vector<bool>& forbidden,
                             const Bounds& bounds, std::unique_ptr<ProgramList>& programs);

/// By a SAT solver that looks for such a program among clauses. A counterexample has the fewest
/// steps there are, and need not be the first one of these.
struct ByClauses {
  Answer answer;
  cnf::AbsenceProof proof;  ///< where the claim holds
};
ByClauses settle_by_clauses(const Subject& subject, const std::vector<bool>& forbidden,
                            const Bounds& bounds);

}  // namespace p2::claims
