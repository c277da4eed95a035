#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proofs/definition/settlement.h"

namespace p2::definition {

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
