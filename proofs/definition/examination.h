#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "p2/result.h"
#include "proofs/definition/exploration.h"

namespace p2::definition {

/// Where Z3 and the interpreter contradict each other: a bug of p2, never of the definition.
struct Difference {
  std::string check;
  Shape shape;
  std::string z3;                             ///< what Z3 finds
  std::string by_states;                      ///< what the interpreter finds
  std::optional<language::GroupState> state;  ///< the state on which they differ, if it is one
};

/// How a definition relates to another collective or to one after the other: wherever both have a
/// legal step, both end in the same state, and for every group of the scope there is such a state.
struct Relation {
  enum class Kind : std::uint8_t {
    Equal,     ///< both have the same legal steps
    Stronger,  ///< its premises are stronger: the other has more legal steps
    Weaker,    ///< its premises are weaker
    Agrees     ///< each has legal steps that the other has not
  };
  Kind kind = Kind::Agrees;
  std::vector<std::string> to;  ///< one collective, or two in the order in which they run

  bool operator==(const Relation&) const = default;
};

/// `equal`, `stronger`, `weaker`, `agrees`
std::string_view to_string(Relation::Kind kind);
/// `= Reduce; Broadcast`, with words for a premise that differs
std::string to_string(const Relation& relation);

struct Relations {
  std::vector<Relation> found;
  bool decided = true;  ///< false where a limit was met: what was found is all right, and not all
  std::vector<Difference> differences;
};

/// The relations of `own` to `known` and to every pair of them.
Relations find_relations(const language::Definition& own,
                         std::span<const language::Definition* const> known, const Scope& scope);

/// Why a check is refuted: a paragraph and, unless there is no legal step at all, the smallest step
/// that breaks it.
struct CheckCounterexample {
  std::string reason;
  std::optional<language::GroupState> before;
  std::optional<language::GroupState> after;
};

/// What decided a check.
enum class SettledBy : std::uint8_t {
  Construction,  ///< it follows from the grammar of the language
  Both,          ///< Z3, and the interpreter on all states or on the counterexample
  SolverOnly,    ///< Z3 alone for some shapes, whose states are too many to enumerate
  Nobody         ///< a limit was reached first
};

/// `holds`, `refuted`, `unknown`: the outcome of a check.
std::string_view check_word(Outcome outcome);

struct Check {
  std::string name;
  Outcome verdict = Outcome::Established;
  std::string detail;  ///< a remark on the verdict; may be empty
  /// Whether it is proved for every n, k and number of contributors; else it holds for the sizes
  /// that were examined.
  bool every_size = false;
  SettledBy settled_by = SettledBy::Construction;
  Outcome z3 = Outcome::Established;
  Outcome by_states = Outcome::Established;
  /// The greatest group up to which the interpreter enumerated all states; for SolverOnly.
  std::uint32_t exhausted_to = 0;
  std::optional<CheckCounterexample> counterexample;
};

/// Why the check is undecided.
std::string undecided_text(const Check& check);

/// The result of examining one definition.
struct Findings {
  std::string collective;
  std::uint32_t max_group = 0;
  /// Shapes with more chunks than shapes_of has that were examined as well, because the only legal
  /// steps are there.
  std::vector<Shape> further_shapes;
  std::vector<Check> checks;
  std::vector<Relation> relations;
  std::vector<Difference> differences;  ///< of the engines; if there are any, no verdict counts

  /// Disagreement where the engines differ, else Refuted where a check is, else Undecided where one
  /// is, else Established: the definition is sound.
  Outcome outcome() const;
  /// The names of the refuted checks, joined by commas.
  std::string refuted_checks() const;
  /// Why the first check that is undecided is.
  std::string undecided_text() const;
  /// The sizes for which a check holds that is not proved for every size:
  /// `groups of 2 to 4, up to 2n chunks`.
  std::string sizes_text() const;
};

/// Examines a definition: for which group sizes there is a legal step, whether a step can be
/// implemented by copying and adding numbers, what it loses, whether the measure rises, whether it
/// is equivariant under permutations of contributors and positions, and which collectives it is
/// equal to or composed of. `known` are those to compare it with; Z3 reads `z3_reads` where the
/// interpreter reads `definition`. Throws LimitReached where Z3 runs out of memory and ToolError
/// where it fails; any other limit leaves checks undecided.
Findings examine(const language::Definition& definition,
                 std::span<const language::Definition* const> known, const Scope& scope,
                 const language::Definition& z3_reads);

/// The ordinary case: both engines read the same definition.
inline Findings examine(const language::Definition& definition,
                        std::span<const language::Definition* const> known, const Scope& scope) {
  return examine(definition, known, scope, definition);
}

}  // namespace p2::definition
