#pragma once

#include <string>

#include "encodings/cnf/validity.h"
#include "encodings/z3/validity.h"
#include "engine/program/derivation.h"
#include "engine/program/explanation.h"
#include "engine/program/notation.h"
#include "tests/program/random_programs.h"

namespace p2 {

/// A verdict in one line: `valid`, or `step 2 disjoint`.
inline std::string explicit_verdict(const Program& program, Dialect dialect) {
  StateTable states(program.chunks());
  const Verdict verdict = check(program, dialect, states);
  if (!verdict.refutation) return std::string(to_string(verdict.kind));
  return "step " + std::to_string(verdict.refutation->step) + " " +
         std::string(rule_name(*verdict.refutation));
}

/// The same of a solver's judgement.
inline std::string verdict_of(const Judgement& judgement) {
  if (judgement.kind == Judgement::Kind::Valid) return "valid";
  if (judgement.kind == Judgement::Kind::Unknown) return "unknown";
  return "step " + std::to_string(judgement.step) + " " + judgement.rule;
}

inline std::string solver_verdict(const z3_encoding::ValidityQuery& query) {
  return verdict_of(z3_encoding::judge(query));
}

inline std::string clause_verdict(const cnf::ValidityQuery& query) {
  return verdict_of(cnf::judge(query));
}

/// What a solver that reads `text` answers.
inline z3::check_result answer_to(const std::string& text) {
  z3::context context;
  z3::solver solver(context);
  solver.from_string(text.c_str());
  return solver.check();
}

}  // namespace p2
