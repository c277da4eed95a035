#include "proofs/api/reference_states.h"

#include "engine/collective/language/built_in.h"
#include "engine/collective/language/interpreter.h"

namespace p2 {

using language::GroupState;

ReferenceStates ReferenceStates::begin(const Program& program) {
  ReferenceStates states;
  states.states_ = GroupState(program.devices, program.chunks(), program.devices);
  for (std::uint32_t d = 0; d < program.devices; ++d) {
    for (std::uint32_t r = 0; r < program.chunks(); ++r) states.states_.set(d, r, d, true);
  }
  if (const auto prepared = preparation(program.beginning.start)) {
    states.run_on_classes(language::built_in(to_string(*prepared)), program);
  }
  return states;
}

ReferenceStates ReferenceStates::goal(const Program& program) const {
  ReferenceStates goal = *this;
  if (program.terms.goal.is_allreduce()) {
    goal.put_sums(program);
  } else {
    goal.run_on_classes(program.terms.goal.definition(), program);
  }
  return goal;
}

void ReferenceStates::run_on_classes(const language::Definition& definition,
                                     const Program& program) {
  for (const Group& members : program.classes) {
    if (members.size() > 1) put(members, post_state(definition, of(members)));
  }
}

void ReferenceStates::put_sums(const Program& program) {
  for (const Group& members : program.classes) {
    for (const std::uint32_t d : members) {
      for (std::uint32_t r = 0; r < chunks(); ++r) {
        for (const std::uint32_t c : members) states_.set(d, r, c, true);
      }
    }
  }
}

GroupState ReferenceStates::of(const Group& group) const {
  GroupState state(static_cast<std::uint32_t>(group.size()), chunks(), contributors());
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    for (std::uint32_t r = 0; r < chunks(); ++r) {
      for (std::uint32_t c = 0; c < contributors(); ++c) {
        state.set(i, r, c, states_.holds(group[i], r, c));
      }
    }
  }
  return state;
}

void ReferenceStates::put(const Group& group, const GroupState& state) {
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    for (std::uint32_t r = 0; r < chunks(); ++r) {
      for (std::uint32_t c = 0; c < contributors(); ++c) {
        states_.set(group[i], r, c, state.holds(i, r, c));
      }
    }
  }
}

bool ReferenceStates::holds_chunk(std::uint32_t device, std::uint32_t chunk) const {
  for (std::uint32_t c = 0; c < contributors(); ++c) {
    if (states_.holds(device, chunk, c)) return true;
  }
  return false;
}

std::uint32_t ReferenceStates::chunks_held(std::uint32_t device) const {
  std::uint32_t held = 0;
  for (std::uint32_t r = 0; r < chunks(); ++r) held += holds_chunk(device, r) ? 1 : 0;
  return held;
}

}  // namespace p2
