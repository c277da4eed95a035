#pragma once

#include <string>

#include <z3++.h>

#include "encodings/cnf/queries.h"
#include "encodings/z3/queries.h"
#include "engine/program/derivation.h"
#include "engine/program/program.h"
#include "tests/program/random_programs.h"

namespace p2 {

/// A verdict in one line: `valid`, or `step 2 disjoint`.
inline std::string explicit_verdict(const Program& program, Dialect dialect) {
  StateTable states(program.chunks());
  const ProgramDecision verdict = check(program, dialect, states);
  if (!verdict.violation) return std::string(to_string(verdict.outcome));
  return "step " + std::to_string(verdict.violation->step) + " " +
         std::string(rule_name(*verdict.violation));
}

/// The same for the answer of a solver.
inline std::string verdict_of(const EngineAnswer& answer) {
  if (answer.outcome == Outcome::Established) return "valid";
  if (answer.outcome == Outcome::Undecided) return "unknown";
  return "step " + std::to_string(answer.step) + " " + answer.rule;
}

inline std::string solver_verdict(const z3_encoding::ValidityQuery& query) {
  return verdict_of(z3_encoding::judge(query));
}

inline std::string clause_verdict(const cnf::ValidityQuery& query) {
  return verdict_of(cnf::judge(query));
}

/// The answer of Z3 to an SMT-LIB text.
inline z3::check_result answer_to(const std::string& text) {
  z3::context context;
  z3::solver solver(context);
  solver.from_string(text.c_str());
  return solver.check();
}

}  // namespace p2
