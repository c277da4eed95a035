#pragma once

#include <string>

#include "proofs/kernel/encoder.h"

namespace p2::kernel {

/// problem.cnf: the header `p cnf VARIABLES CLAUSES`, and clauses.
struct Cnf {
  std::int32_t variables = 0;
  std::vector<Clause> clauses;
};
Cnf read_cnf(const std::string& text, Budget& budget);

/// Objects unless `lrat` ends by deriving the empty clause from the clauses: every step's hints,
/// taken in order, become unit clauses once the step's clause is assumed false, and the last of
/// them is false then (strict LRUP: no RAT, no deletion, no hint that is not unit).
void check_lrat(Cnf cnf, const std::string& lrat, Budget& budget);

/// The claim `synthesis-complete`: the programs that problem.json lists are all the valid programs
/// of at most `size` steps. Each is replayed; that there is no other is refuted by proof.lrat on
/// clauses that this checker makes itself. Returns the claim in words, or objects.
std::string judge_completeness(const Files& files);

}  // namespace p2::kernel
