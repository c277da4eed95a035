#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/collective/language/definition.h"
#include "p2/limits.h"
#include "proofs/definition/claim.h"
#include "proofs/definition/states.h"

namespace p2::definition {

/// How far a definition is looked at.
struct Scope {
  std::uint32_t most_group = 4;  ///< groups of kLeastGroup to this many devices
  std::uint64_t seed = 1;        ///< of the random states
  unsigned jobs = 0;             ///< threads; 1 keeps to one, anything else takes two
  Limits limits;
};

/// What the explicit engine saw of the states of one shape.
struct Exploration {
  Shape shape;
  bool complete = false;                      ///< all states were looked at
  std::optional<language::GroupState> legal;  ///< the smallest state from which a step is legal
  /// Of each claim, the smallest state from which a legal step breaks it.
  std::array<std::optional<language::GroupState>, kClaims.size()> breaks;
};

/// All shapes of the scope, by group size and then by bits.
std::vector<Exploration> explore(const language::Definition& definition, const Scope& scope);

}  // namespace p2::definition
