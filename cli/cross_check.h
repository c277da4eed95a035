#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/limits.h"
#include "engine/program/program_file.h"
#include "engine/synthesis/synthesis.h"

namespace p2 {

/// The engines that a command line asks for: `explicit` (the interpreter of compressed states),
/// `z3` (bit-vectors), `cnf` (clauses for CaDiCaL). They share the definitions of the collectives
/// and neither evaluators nor lowering.
struct Engines {
  bool z3 = false;
  bool cnf = false;
};

/// The engines that `--engine NAME` asks for beside the explicit one, which always answers. Throws
/// InputError for an unknown name, and for cnf where it has no answer to give.
Engines engines_called(const std::string& name, bool with_cnf);

/// What every engine says of one program, by engine: `valid`, `invalid` or `unknown`.
using EngineVerdicts = std::map<std::string, std::string>;

/// Asks Z3 for its own verdict on a program, within the limits.
std::string z3_verdict(const ProgramFile& file, const Limits& limits);

/// Whether two engines that decided decided differently.
bool disagree(const EngineVerdicts& verdicts);

/// How the list of one placement stands up to the solvers.
struct Comparison {
  std::string engine;
  bool complete = false;             ///< the solver has refuted that there are other programs
  std::vector<std::string> missing;  ///< found by the solver and not in the list
  std::vector<std::string> extra;    ///< in the list and not found by the solver; only if complete

  bool differs() const { return !missing.empty() || !extra.empty(); }
};

/// One line or, where they differ, a line per program that only one of the two has.
std::string to_text(const Comparison& comparison, std::uint64_t count);
std::string to_json(const Comparison& comparison);

/// Enumerates the programs of a placement once more with each of the solvers asked for and compares
/// the sets of programs, as lowered steps.
std::vector<Comparison> compare_with_solvers(const PlacementPrograms& found,
                                             const SynthesisOptions& options,
                                             const Engines& engines);

}  // namespace p2
