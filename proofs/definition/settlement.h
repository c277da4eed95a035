#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encodings/z3/reading.h"
#include "proofs/definition/every_size.h"
#include "proofs/definition/examination.h"
#include "proofs/definition/exploration.h"
#include "proofs/definition/symbolic_step.h"

/// Private: the questions that Z3 and the interpreter are asked about a definition, and how their
/// answers are combined.
namespace p2::definition {

/// What the explicit engine found for one shape: whether it enumerated all states, and the smallest
/// state that breaks the claim.
struct Seen {
  bool complete = false;
  std::optional<language::GroupState> breaks;
};

/// What both engines find for one claim, gathered shape by shape until it is refuted.
class Settlement {
 public:
  /// `confirmed` tells whether the interpreter, too, finds the claim broken in a state.
  void note(const Shape& shape, const StateAnswer& z3, const Seen& seen,
            const std::function<bool(const language::GroupState&)>& confirmed);

  /// A state of a larger size that breaks the claim, as the interpreter has confirmed; `by_z3`
  /// tells who found it.
  void refute(const language::GroupState& state, bool by_z3);

  /// Whether further shapes have anything to add.
  bool open() const { return !counterexample_ && !difference_; }

  Outcome verdict() const;
  Outcome z3() const { return z3_; }
  Outcome by_states() const { return by_states_; }
  /// The greatest group up to which the explicit engine has looked at all states of all shapes;
  /// less than kMinGroup where there is none.
  std::uint32_t exhausted_to() const { return incomplete_from_ ? *incomplete_from_ - 1 : last_; }
  /// The smallest state that breaks the claim.
  const std::optional<language::GroupState>& counterexample() const { return counterexample_; }
  const std::optional<Difference>& difference() const { return difference_; }

 private:
  Outcome z3_ = Outcome::Established;
  Outcome by_states_ = Outcome::Established;
  bool undecided_ = false;
  std::uint32_t last_ = 0;
  std::optional<std::uint32_t> incomplete_from_;
  std::optional<language::GroupState> counterexample_;
  std::optional<Difference> difference_;
};

/// One definition as each engine reads it: the same text, except in tests that check that a
/// difference is detected. Both must outlive the question.
struct Subject {
  const language::Definition& definition;  ///< what the interpreter reads
  const z3_encoding::Rule& rule;           ///< what Z3 reads
};

using Settlements = std::array<Settlement, kClaims.size()>;

/// What both engines say of every claim, in the order of kClaims; `seen` is what the explicit
/// engine saw of the shapes to ask about.
Settlements settle_claims(const Subject& subject, const std::vector<Exploration>& seen,
                          const Scope& scope);

/// Searches the shapes of probe_shapes for states that break claims which hold so far and are not
/// `proved`, by random states and by Z3 with a bounded effort. What is found is confirmed by the
/// interpreter; where nothing is found, nothing is claimed.
void probe_claims(const Subject& subject, const ProvedClaims& proved, const Scope& scope,
                  Settlements& settled);

/// The relations to `known` and to every pair of them. The explicit engine searches for states that
/// tell the definition from a candidate; where it finds none, Z3 has to prove that there is none.
Relations find_relations(const Subject& own, std::span<const z3_encoding::Rule* const> known,
                         const Scope& scope);

/// Whether groups of one size that hold something can satisfy the premises.
struct GroupSatisfiability {
  std::uint32_t devices = 0;
  std::optional<language::GroupState> legal;  ///< a state that does
  bool never = false;  ///< proved that there is none, whatever the number of chunks
  /// No state of 1 to so many chunks and 1 or n contributors does.
  std::uint32_t none_up_to = 0;
};

/// For which groups there is a legal step. Refuted only where it is proved that there is none, for
/// groups of every size and any number of chunks; Established where there is one for some size of
/// the scope.
struct Satisfiability {
  Outcome verdict = Outcome::Established;
  Outcome z3 = Outcome::Established;
  Outcome by_states = Outcome::Established;
  std::vector<GroupSatisfiability> groups;  ///< of the scope
  /// Where no group of the scope has a legal step: a larger one that has.
  std::optional<language::GroupState> larger;
  std::uint32_t searched_to = 0;  ///< the largest group that was searched for it
  /// Premises that exclude each other, none of which can be spared; where Refuted.
  std::vector<std::size_t> excluding;
  std::optional<Difference> difference;

  /// `legal steps for n = 2, 4 (k = 16); none for n = 3`
  std::string text() const;
};

/// `seen` is what the explicit engine saw of the shapes of the scope. More chunks than these have
/// are tried as well.
Satisfiability settle_satisfiability(const Subject& subject, const std::vector<Exploration>& seen,
                                     const Scope& scope);

/// The shapes with more chunks than shapes_of has at which the only legal steps were found, so that
/// claims have to be examined there too.
std::vector<Shape> shapes_with_legal_steps(const Satisfiability& satisfiability);

}  // namespace p2::definition
