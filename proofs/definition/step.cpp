#include "proofs/definition/step.h"

#include "engine/collective/language/interpreter.h"
#include "proofs/definition/shape.h"

namespace p2::definition {

using language::GroupState;

bool legal(const language::Definition& definition, const GroupState& before) {
  return amount(before) > 0 && !language::first_failed_premise(definition, before);
}

std::optional<Step> take(const language::Definition& definition, const GroupState& before) {
  if (!legal(definition, before)) return std::nullopt;
  return Step{definition, before, language::post_state(definition, before)};
}

GroupState contributors_exchanged(const GroupState& state, std::uint32_t a, std::uint32_t b) {
  GroupState exchanged = state;
  for (std::uint32_t i = 0; i < state.devices(); ++i) {
    for (std::uint32_t r = 0; r < state.chunks(); ++r) {
      exchanged.set(i, r, a, state.holds(i, r, b));
      exchanged.set(i, r, b, state.holds(i, r, a));
    }
  }
  return exchanged;
}

GroupState positions_exchanged(const GroupState& state, std::uint32_t a, std::uint32_t b) {
  GroupState exchanged = state;
  for (std::uint32_t r = 0; r < state.chunks(); ++r) {
    for (std::uint32_t c = 0; c < state.contributors(); ++c) {
      exchanged.set(a, r, c, state.holds(b, r, c));
      exchanged.set(b, r, c, state.holds(a, r, c));
    }
  }
  return exchanged;
}

}  // namespace p2::definition
