#pragma once

#include <string>

#include "encodings/cnf/clauses.h"
#include "encodings/cnf/proof/drat_trace.h"
#include "p2/limits.h"

namespace p2::cnf {

/// That clauses contradict each other, for anyone to check.
struct ClauseProof {
  std::string cnf;  ///< DIMACS: those clauses that the refutation needs, in their order
  std::string lrat;
};

/// Turns what a solver wrote when it refuted `clauses` into LRAT. Throws LimitMet, and
/// std::runtime_error when the solver's refutation is none.
ClauseProof clause_proof(const Clauses& clauses, const DratTrace& trace, const Limits& limits);

}  // namespace p2::cnf
