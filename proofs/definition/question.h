#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "encodings/z3/reading.h"
#include "proofs/definition/exploration.h"
#include "proofs/definition/settlement.h"

namespace p2::definition {

/// One definition, as each of the engines reads it: the same text, unless a test wants to see that
/// a difference comes to light. Both must outlive the question.
struct Subject {
  const language::Definition& definition;  ///< what the interpreter reads
  const z3_encoding::Rule& rule;           ///< what Z3 reads
};

/// What both engines say of every claim, in the order of kClaims; `seen` is what the explicit
/// engine saw of the shapes to ask about.
std::array<Settlement, kClaims.size()> settle_claims(const Subject& subject,
                                                     const std::vector<Exploration>& seen,
                                                     const Limits& limits);

/// For which groups a state that holds something satisfies the premises.
struct Satisfiability {
  Verdict verdict = Verdict::Holds;  ///< Holds: for all of them
  Verdict z3 = Verdict::Holds;
  Verdict by_states = Verdict::Holds;
  std::vector<std::uint32_t> groups;   ///< sizes for which there is a legal step
  std::vector<std::uint32_t> vacuous;  ///< sizes for which there is none
  /// Premises that exclude each other at the first of these, none of which can be spared.
  std::vector<std::size_t> excluding;
  std::optional<Difference> difference;
};

Satisfiability settle_satisfiability(const Subject& subject, const std::vector<Exploration>& seen,
                                     const Limits& limits);

}  // namespace p2::definition
