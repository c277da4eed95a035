#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "proofs/definition/claim.h"
#include "proofs/definition/step.h"

namespace p2::definition {

/// Where a step breaks a claim. What the claim does not speak of is 0.
struct Violation {
  std::uint32_t position = 0;  ///< for PositionsAlike the first of two, the next one is the other
  std::uint32_t chunk = 0;
  std::uint32_t contributor = 0;  ///< for ContributorsAlike the first of two, likewise

  bool operator==(const Violation&) const = default;
};

/// The first violation by position, chunk and contributor, or nothing: the explicit engine's answer
/// for one step, by the interpreter and the words of claim.h.
std::optional<Violation> violation(Claim claim, const Step& step);

/// What is wrong, in one paragraph.
std::string explain(Claim claim, const Step& step, const Violation& violation);

}  // namespace p2::definition
