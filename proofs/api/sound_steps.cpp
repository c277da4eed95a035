#include "proofs/api/sound_steps.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "proofs/api/reference_run.h"
#include "proofs/api/reference_states.h"
#include "engine/collective/language/interpreter.h"
#include "p2/error.h"
#include "proofs/definition/violation.h"

namespace p2 {

using language::Definition;
using language::GroupState;

void SoundSteps::require(const std::string& where, const Program& program) {
  const CollectiveSet& collectives = program.terms.collectives;
  const auto own = [](const Step& step) {
    return static_cast<std::size_t>(step.collective) >= kCollectives.size();
  };
  if (std::none_of(program.steps.begin(), program.steps.end(), own)) return;
  const std::uint64_t cells = std::uint64_t{program.devices} * program.devices * program.chunks();
  if (cells > ReferenceRun::kMostWork) {
    throw std::length_error(where + ": the program is too large to see that its steps are sound");
  }
  if (limits_.exceeded(0)) {
    throw std::length_error(where + ": a limit was met before it was clear that steps are sound");
  }
  ReferenceStates states = ReferenceStates::begin(program);
  for (const Step& step : program.steps) {
    const Definition& definition = collectives.definition_of(step.collective);
    for (const Group& group : step.groups) {
      const GroupState before = states.of(group);
      if (own(step)) require(where, definition, before);
      states.put(group, post_state(definition, before));
    }
  }
}

void SoundSteps::require(const std::string& where, const Definition& definition,
                         const GroupState& before) {
  using definition::Claim;
  std::vector<GroupState>& known = sound_[definition.name];
  if (std::find(known.begin(), known.end(), before) != known.end()) return;
  const std::optional<definition::Step> step = definition::take(definition, before);
  if (!step) return;  // a group that holds nothing
  for (const Claim claim : {Claim::Realisable, Claim::MeasureRises}) {
    if (const auto violation = definition::violation(claim, *step)) {
      throw InputError({where}, fmt::format("{} is not sound for a group of {}, {} refuted: {}",
                                            definition.name, before.devices(), name_of(claim),
                                            explain(claim, *step, *violation)));
    }
  }
  known.push_back(before);
}

}  // namespace p2
