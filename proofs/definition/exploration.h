#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/collective/language/definition.h"
#include "p2/limits.h"
#include "proofs/definition/claim.h"
#include "proofs/definition/step.h"

namespace p2::definition {

/// How many bits a state may have for all states of the shape to be looked at one by one, and how
/// many random states are looked at otherwise.
constexpr std::uint32_t kMaxEnumeratedBits = 16;
constexpr std::uint32_t kSamples = 400;

/// Gives `visit` all states of the shape, which then has at most 64 bits, or `samples` random ones:
/// states of several densities and, because premises refuse most of them, states in which
/// contributions are dealt out, chunks are dealt out, the root holds all that others hold, or the
/// root alone holds anything. False when a limit was met before the end.
bool for_each_state(const Shape& shape, bool all, std::uint64_t seed, const Limits& limits,
                    const std::function<void(const language::GroupState&)>& visit,
                    std::uint32_t samples = kSamples);

/// How far an examination has got, for reports while it runs.
struct ExaminationProgress {
  std::atomic<std::uint32_t> shapes = 0;  ///< whose claims are settled
  std::atomic<std::uint32_t> of = 0;      ///< how many there are; 0 while states are looked at
};

/// How far a definition is looked at.
struct Scope {
  std::uint32_t max_group = 4;  ///< groups of kMinGroup to this many devices
  std::uint64_t seed = 1;       ///< of the random states
  unsigned jobs = 0;            ///< threads; 1 keeps to one, anything else takes two
  Limits limits;
  ExaminationProgress* progress = nullptr;  ///< may be null
};

/// What the explicit engine saw of the states of one shape.
struct Exploration {
  Shape shape;
  bool complete = false;                      ///< all states were looked at
  std::optional<language::GroupState> legal;  ///< the smallest state from which a step is legal
  /// Of each claim, the smallest state from which a legal step breaks it.
  std::array<std::optional<language::GroupState>, kClaims.size()> breaks;
};

/// Looks at one shape.
Exploration explore(const language::Definition& definition, const Shape& shape, const Scope& scope);

/// All shapes of the scope, by group size and then by bits.
std::vector<Exploration> explore(const language::Definition& definition, const Scope& scope);

}  // namespace p2::definition
