#pragma once

#include <string>
#include <vector>

#include "proofs/api/finding.h"
#include "encodings/z3/rulebook.h"
#include "p2/limits.h"
#include "engine/program/program_file.h"

namespace p2 {

/// The engines that a command line asks for beside the explicit one, which always answers: `z3`
/// (bit-vectors compiled from the definitions), `cnf` (clauses for CaDiCaL) and `reference` (the
/// interpreter of the definitions, which runs again what the others found). They share the
/// definitions of the collectives and no evaluator; z3 and cnf have a lowering of their own. cnf
/// knows the paper's collectives and goal alone.
struct Engines {
  bool z3 = false;
  bool cnf = false;
  bool reference = false;
  bool cnf_left_out = false;  ///< asked for, and unable to answer
  /// What z3 goes by, in the order of Collective; others than the built-in ones and those that the
  /// user defines only to see a difference come to light.
  std::vector<language::Definition> z3_definitions = language::built_in_definitions();
};

/// `cnf: not asked, …`, for an answer that cnf was left out of.
std::string not_asked_text();

/// Those of `engines` that know the terms. Throws InputError where that leaves out the only one
/// that was asked for.
Engines on_terms(Engines engines, const Terms& terms);

/// The engines that `--engine NAME` asks for. Throws InputError for an unknown name.
Engines engines_called(const std::string& name);

/// What every engine asked, the explicit one included, says of the program, on which the explicit
/// engine gave `verdict`.
Findings ask(const Engines& engines, const ProgramFile& file, const Verdict& verdict,
             const Limits& limits);

}  // namespace p2
