#pragma once

#include <string>

#include "engine/collective/language/interpreter.h"
#include "engine/collective/language/definition.h"
#include "tests/fuzz/property.h"

namespace p2 {

/// Two devices, chunks and contributors; `holds` says what is held at first.
template <typename Holds>
language::GroupState tiny_state(Holds holds) {
  language::GroupState state(2, 2, 2);
  for (std::uint32_t device = 0; device < 2; ++device) {
    for (std::uint32_t chunk = 0; chunk < 2; ++chunk) {
      for (std::uint32_t contributor = 0; contributor < 2; ++contributor) {
        state.set(device, chunk, contributor, holds(device, chunk, contributor));
      }
    }
  }
  return state;
}

/// Every function of the interpreter has a result, and always the same one.
inline void check_interpretation(const language::Definition& definition,
                                 const language::GroupState& before) {
  const auto failed = language::first_failed_premise(definition, before);
  promise(failed == language::first_failed_premise(definition, before), "a premise wavers");
  if (failed) {
    promise(failed->premise < definition.premises.size(), "a premise that is none fails");
    for (const language::Binding& binding : failed->witness) {
      promise(binding.value < 2, "a witness is outside the state");
    }
  }
  const language::GroupState after = language::post_state(definition, before);
  promise(after == language::post_state(definition, before), "a post-state wavers");
  for (const language::GroupState* state : {&before, &after}) {
    const std::uint64_t known = language::measure(definition, *state);
    promise(known == language::measure(definition, *state), "a measure wavers");
  }
}

/// A definition that is read can be interpreted. Returns whether `text` is one.
inline bool check_definition_text(const std::string& text) {
  const auto parse = [&] { return language::parse_definition(kFuzzedSource, text); };
  const auto definition = accepted(parse);
  if (!definition) return false;
  promise(*definition == parse(), "a definition is read in two ways");
  using Index = std::uint32_t;
  check_interpretation(*definition, tiny_state([](Index, Index, Index) { return false; }));
  check_interpretation(*definition, tiny_state([](Index, Index, Index) { return true; }));
  check_interpretation(*definition, tiny_state([](Index i, Index, Index c) { return i == c; }));
  check_interpretation(*definition, tiny_state([](Index i, Index r, Index) { return i == r; }));
  return true;
}

}  // namespace p2
