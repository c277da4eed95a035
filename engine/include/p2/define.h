#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "p2/answer.h"

namespace p2 {

/// Definitions of collectives to examine.
struct DefineRequest {
  std::vector<std::string> files;  ///< paths of `.p2c` definitions, at least one
  /// Groups of 2 to this many devices are examined, with the buffers that docs/definitions.md
  /// names; from 2 to 8. For larger sizes nothing is claimed but what is proved for every size.
  std::uint32_t max_group = 4;
};

/// One property of a definition.
struct DefinitionCheck {
  std::string name;                        ///< `satisfiable`, `realisable`, `measure`, …
  Outcome outcome = Outcome::Established;  ///< Established: it holds
  std::string detail;                      ///< a remark, may be empty
  /// `construction` (by the grammar), `both` (Z3 and the interpreter), `solver-only`, or `nobody`
  /// (a limit was reached first).
  std::string settled_by;
  /// Whether it is proved for every n and k, rather than examined up to DefinitionReport::sizes.
  bool every_size = false;
};

/// What is known of one definition.
struct DefinitionReport {
  std::string file;
  std::string collective;                  ///< its name
  Outcome outcome = Outcome::Established;  ///< Established: sound, for `sizes`
  std::string sizes = {};  ///< that were examined: `groups of 2 to 4, up to 2n chunks`
  std::vector<DefinitionCheck> checks = {};
  /// Collectives, or pairs of them one after the other, that it is equal to: `= Reduce; Broadcast`.
  std::vector<std::string> relations = {};
};

/// `results` and `definitions` have one entry for each file that could be read, in the order of the
/// request. A file that could not be read is a diagnostic (BadInput). The rule of a counterexample
/// is the name of the first check that is refuted; its drawing shows the step.
struct DefineAnswer : Answer {
  std::vector<DefinitionReport> definitions;
};

/// Examines whether definitions of collectives are sound: whether steps exist, can be implemented
/// by copying and adding, and lead forward; and how each relates to the built-in collectives and to
/// the other files. Z3 and the reference interpreter answer independently; where they differ the
/// outcome is Disagreement. The notation and the checks are described in docs/definitions.md.
///
/// Throws InputError for a request without files or with `max_group` out of range, and ToolError
/// where Z3 fails. A limit leaves checks undecided.
///
///     DefineRequest request;
///     request.files = {"examples/collectives/sound/gather.p2c"};
///     const DefineAnswer answer = define(request, {});
///     if (answer.outcome == Outcome::Established) …
DefineAnswer define(const DefineRequest& request, const Options& options);

/// The definitions as one file of Coq for proofs/theory, a module for each in the order of `files`.
/// Nothing is examined. Throws InputError at the first file that cannot be read, and for two
/// definitions of one name.
std::string definitions_in_coq(const std::vector<std::string>& files);

}  // namespace p2
