#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proofs/definition/relation.h"

namespace p2::definition {

/// What shows that a check does not hold: a paragraph and, unless there is no legal step to show,
/// the smallest step that does not satisfy it.
struct Counterexample {
  std::string reason;
  std::optional<language::GroupState> before;
  std::optional<language::GroupState> after;
};

/// Who settled a check.
enum class SettledBy : std::uint8_t {
  Construction,  ///< the grammar of the language leaves no other way
  Both,          ///< Z3, and the interpreter on all states or on the counterexample
  SolverOnly,    ///< Z3 alone for some shapes, as their states are too many to look at all of them
  Nobody         ///< a limit was met first
};

struct Check {
  std::string name;
  Verdict verdict = Verdict::Holds;
  std::string detail;  ///< what there is to say beside the verdict; may be empty
  SettledBy settled_by = SettledBy::Construction;
  Verdict z3 = Verdict::Holds;
  Verdict by_states = Verdict::Holds;
  /// The greatest group up to which the interpreter looked at all states; for SolverOnly.
  std::uint32_t exhausted_to = 0;
  std::optional<Counterexample> counterexample;
};

/// All that was found out about one definition.
struct Findings {
  std::string collective;
  std::uint32_t most_group = 0;
  std::vector<Check> checks;
  std::vector<Relation> relations;
  std::vector<Difference> differences;  ///< of the engines; no verdict means anything if there are
};

/// Examines a definition: whether there is a legal step for every group, whether adding numbers can
/// do what a step says, what is lost, whether the measure rises, whose numbers matter, and which
/// collectives it is equal to or made of. `known` are those to compare it with; Z3 reads `z3_reads`
/// where the interpreter reads `definition`.
Findings examine(const language::Definition& definition,
                 std::span<const language::Definition* const> known, const Scope& scope,
                 const language::Definition& z3_reads);

/// The ordinary case: both engines read the same.
inline Findings examine(const language::Definition& definition,
                        std::span<const language::Definition* const> known, const Scope& scope) {
  return examine(definition, known, scope, definition);
}

}  // namespace p2::definition
