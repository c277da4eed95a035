#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "encodings/z3/reading.h"
#include "proofs/definition/step.h"
#include "proofs/definition/symbolic_step.h"

namespace p2::definition {

using KnownRules = std::span<const z3_encoding::Rule* const>;

/// A known collective, or two one after the other, and how it was found to differ from a
/// definition.
struct Candidate {
  std::vector<std::size_t> parts;  ///< count the known ones
  bool differs = false;            ///< both are legal in some state and end differently
  bool own_alone = false;          ///< only the definition is legal in some state
  bool other_alone = false;        ///< only the candidate is
  std::set<std::uint32_t> meets;   ///< sizes of groups for which both are legal in some state
};

/// What a definition and a candidate make of one state.
struct Outcomes {
  std::optional<language::GroupState> own;
  std::optional<language::GroupState> other;

  bool differ() const { return own && other && *own != *other; }
};

/// The state after the steps of these collectives, or nothing where one of them is not legal.
std::optional<language::GroupState> outcome(std::span<const std::size_t> parts, KnownRules known,
                                            const language::GroupState& before);

/// Enters what one state shows.
void note(const Outcomes& outcomes, std::uint32_t devices, Candidate& candidate);

/// The same as terms, for one shape.
class SymbolicComparison {
 public:
  SymbolicComparison(z3::context& context, const z3_encoding::Rule& own, const Candidate& candidate,
                     KnownRules known, const Shape& shape);

  const z3_encoding::GroupRows& before() const { return own_.before(); }
  z3::expr own_legal() const { return own_legal_; }
  z3::expr other_legal() const { return other_legal_; }
  z3::expr differ() const { return own_legal_ && other_legal_ && !same_; }

 private:
  SymbolicStep own_;
  z3::expr own_legal_;
  z3::expr other_legal_;
  z3::expr same_;
};

}  // namespace p2::definition
