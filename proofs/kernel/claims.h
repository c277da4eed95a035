#pragma once

#include <functional>
#include <string>
#include <vector>

#include "proofs/kernel/problem.h"

namespace p2::kernel {

using Clause = std::vector<std::int32_t>;  ///< variables, or their negations as negative numbers

struct Variables {
  std::int32_t count = 0;
  std::string varmap;  ///< the text of `varmap`
};

/// Hands out one by one the clauses of docs/certificates.md, whose models are the valid programs of
/// at most `size` steps over the stage's steps, the choices, but for the programs listed, as
/// numbers of choices. Choices with the same groups stand together, AllReduce first.
Variables encode(const Stage& stage, std::uint32_t size, const std::vector<Numbers>& programs,
                 const std::function<void(const Clause&)>& sink);

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

/// The claims `program-valid` and `program-invalid`: derivation.json records the states of all
/// devices before the first step and after every legal one, as numbered sets and states, and is
/// replayed. Then the goal is reached; or refutation.json names the step after the last recorded
/// one with the rule that it breaks, or the goal, which is missed. Returns the claim in words.
std::string judge_program(const Files& files, bool valid);

/// The claim `synthesis-complete`: the programs that problem.json lists are all the valid programs
/// of at most `size` steps. Each is replayed; that there is no other is refuted by proof.lrat on
/// clauses that this checker makes itself. Returns the claim in words, or objects.
std::string judge_completeness(const Files& files);

}  // namespace p2::kernel
