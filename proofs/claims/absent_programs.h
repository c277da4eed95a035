#pragma once

#include <memory>
#include <vector>

#include "encodings/cnf/synthesis.h"
#include "engine/program/synthesis.h"
#include "proofs/claims/claim.h"

/// Claims that no valid program of a bounded size has some property: by enumeration and by SAT.
namespace p2::claims {

/// Settles a claim that holds exactly if no valid program makes a forbidden move, by enumeration of
/// all valid programs, which are kept in `programs` for other claims about the same ones.
Settlement settle_by_enumeration(const Subject& subject, const std::vector<bool>& forbidden,
                                 const Bounds& bounds, std::unique_ptr<ProgramList>& programs);

/// An answer with the refutation of a counterexample.
struct CertifiedSettlement {
  Settlement answer;
  cnf::AbsenceProof proof;  ///< if the claim holds
};
/// The same by a SAT solver. A counterexample has the fewest steps possible, but need not be the
/// first one of these.
CertifiedSettlement settle_by_sat(const Subject& subject, const std::vector<bool>& forbidden,
                                  const Bounds& bounds);

/// Whether the enumerator lists every valid program over `from`: by a SAT solver that looks for
/// another one.
CertifiedSettlement list_and_refute_others(const Subject& subject, const Bounds& bounds);

Settlement synthesis_complete(const Subject& subject, const Bounds& bounds);

}  // namespace p2::claims
