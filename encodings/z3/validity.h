#pragma once

#include "encodings/judgement.h"
#include "encodings/z3/budget.h"
#include "encodings/z3/rulebook.h"
#include "engine/program/program.h"

namespace p2::z3_encoding {

/// The query `validity`: is this program valid?
struct ValidityQuery {
  static constexpr const char* kName = "validity";

  const Program* program = nullptr;
  const Instance* instance = nullptr;  ///< needed where a step has a shape
  Dialect dialect = Dialect::Published;
  Definitions definitions = language::built_in_definitions();
  Budget budget = {};
};

/// Judges the program step by step. All rows of all states are constants, so that each condition is
/// one Z3 simplifies to true or false; the solver is asked where that should not suffice. The
/// groups of steps with a shape are formed inside Z3 (formation.h) and not taken from the step.
Judgement judge(const ValidityQuery& query);

/// The query as SMT-LIB 2: every row of every state is a symbol, and the assertion says that some
/// condition fails. Hence unsat = the program is valid.
std::string smt_lib(const ValidityQuery& query);

}  // namespace p2::z3_encoding
