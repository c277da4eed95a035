#include "proofs/definition/candidate.h"

#include "proofs/definition/shape.h"

namespace p2::definition {

std::optional<language::GroupState> outcome(std::span<const std::size_t> parts, KnownRules known,
                                            const language::GroupState& before) {
  std::optional<language::GroupState> state = before;
  for (const std::size_t part : parts) {
    std::optional<Step> step = take(known[part]->definition, *state);
    if (!step) return std::nullopt;
    state = std::move(step->after);
  }
  return state;
}

void note(const Outcomes& outcomes, std::uint32_t devices, Candidate& candidate) {
  if (outcomes.differ()) candidate.differs = true;
  if (outcomes.own && outcomes.other) candidate.meets.insert(devices);
  if (outcomes.own && !outcomes.other) candidate.own_alone = true;
  if (!outcomes.own && outcomes.other) candidate.other_alone = true;
}

SymbolicComparison::SymbolicComparison(z3::context& context, const z3_encoding::Rule& own,
                                       const Candidate& candidate, KnownRules known,
                                       const Shape& shape)
    : own_(context, own, symbolic_rows(context, shape)),
      own_legal_(own_.legal()),
      other_legal_(context.bool_val(true)),
      same_(context.bool_val(true)) {
  z3_encoding::GroupRows rows = own_.before();
  for (const std::size_t part : candidate.parts) {
    SymbolicStep step(context, *known[part], rows);
    other_legal_ = other_legal_ && step.legal();
    rows = step.after();
  }
  same_ = same_rows(own_.after(), rows);
}

}  // namespace p2::definition
