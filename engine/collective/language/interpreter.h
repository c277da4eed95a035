#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/collective/language/definition.h"
#include "engine/collective/language/group_state.h"

/// The reference for every other reading of a definition: it evaluates the formulas as they stand,
/// and is as slow as that. Every function has a result for every definition and every state.
namespace p2::language {

/// One value of a variable, of which a formula is false.
struct Binding {
  std::string name;
  Sort sort = Sort::Position;
  std::uint32_t value = 0;

  bool operator==(const Binding&) const = default;
};

struct FailedPremise {
  std::size_t premise = 0;  ///< counts the definition's premises
  /// If the premise is a `forall`: the lexicographically first values of its variables, in their
  /// order in the text, for which the body is false. Empty for any other formula.
  std::vector<Binding> witness;

  bool operator==(const FailedPremise&) const = default;
};

/// The first premise that does not hold, or nothing if the collective may run on this group.
std::optional<FailedPremise> first_failed_premise(const Definition& definition,
                                                  const GroupState& before);

/// The group after the step. Where a premise fails it is what the formula says, and means nothing.
GroupState post_state(const Definition& definition, const GroupState& before);

/// How much the group knows.
std::uint64_t measure(const Definition& definition, const GroupState& state);

}  // namespace p2::language
