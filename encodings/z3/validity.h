#pragma once

#include "encodings/z3/query.h"
#include "engine/program/instance.h"
#include "engine/program/program.h"
#include "p2/result.h"

namespace p2::z3_encoding {

/// The query `validity`: is this program valid?
struct ValidityQuery {
  static constexpr const char* kName = "validity";

  const Program* program = nullptr;
  const Instance* instance = nullptr;  ///< needed where a step has a shape
  Dialect dialect = Dialect::Published;
  Definitions definitions = language::built_in_definitions();
  Limits limits = {};
};

/// Decides the program step by step. All rows of all states are constants, so that each condition
/// is one that Z3 simplifies to true or false; the solver is called where that does not suffice.
/// The groups of steps with a shape are formed inside Z3 (lowering.h) and not taken from the step.
/// Undecided where a limit is reached.
EngineAnswer judge(const ValidityQuery& query);

/// The query as SMT-LIB 2: every row of every state is a symbol, and the assertion says that some
/// condition fails. Hence unsat = the program is valid.
std::string smt_lib(const ValidityQuery& query);

}  // namespace p2::z3_encoding
