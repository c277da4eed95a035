#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/program/goal.h"
#include "engine/program/instance.h"
#include "engine/program/program.h"
#include "p2/answer.h"
#include "p2/define.h"
#include "p2/instance.h"
#include "proofs/definition/examination.h"

namespace p2 {

/// Whether the definitions that a request names are sound, as far as that was settled. An unsound
/// one is an InputError and never gets here.
struct Soundness {
  /// Undecided: a limit was reached before a definition was known to be sound. Disagreement: Z3 and
  /// the interpreter differ on one. What is computed with the definitions is worth no more.
  Outcome outcome = Outcome::Established;
  std::vector<Diagnostic> diagnostics;  ///< a line for each definition that is not established
};

/// Reads `spec.collectives` and `spec.goal` into `given.terms` (and sets
/// `given.goal_overrides_file`). The names of the collectives must differ from each other and from
/// the built-in ones.
///
/// Every definition is examined as by `define` for groups of up to `spec.max_group` devices,
/// without relations to other collectives. Throws InputError for a definition that is not sound, a
/// name that is taken, a file that cannot be read or does not end in `.p2c`, more definitions than
/// CollectiveSet holds, a goal that is neither one of kGoals nor a `.p2c` file, and a `max_group`
/// out of range.
Soundness read_terms(const InstanceSpec& spec, const Options& options, GivenInstance& given);

/// The definition in `file`, examined likewise; the finding is added to `soundness`.
language::Definition read_sound_definition(const std::string& file, std::uint32_t max_group,
                                           const Options& options, Soundness& soundness);

/// `, goal allgather from shards`; empty for the goal of the P2 paper, allreduce.
std::string goal_text(const Goal& goal, const Beginning& beginning);

/// Throws InputError at `flag` unless the terms are those of the P2 paper: certificates cover no
/// others.
void require_paper(const std::string& flag, const Terms& terms);
/// The program as a library that has only the built-in collectives runs it. Throws InputError at
/// `file` for a step that no sequence of them stands for; `expected` says what to do instead.
Program require_built_in(const std::string& file, const Program& program,
                         const std::string& expected);

/// A definition file and what its examination found.
struct ExaminedDefinition {
  std::string file;
  definition::Findings findings;
  double seconds = 0;                             ///< how long the examination took
  std::optional<language::Traffic> traffic = {};  ///< as stated
};

/// The answer of `define` for these files, with its document.
DefineAnswer define_answer(const std::vector<ExaminedDefinition>& examined);

}  // namespace p2
