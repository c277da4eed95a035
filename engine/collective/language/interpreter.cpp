#include "engine/collective/language/interpreter.h"

#include "engine/collective/language/evaluator.h"

namespace p2::language {
namespace {

/// Nothing if `formula` holds; else what refutes its outermost variables.
std::optional<std::vector<Binding>> refutation(const Expression& formula, Evaluator& evaluator) {
  Assignment assignment{};
  if (formula.kind != Kind::ForAll) {
    if (evaluator.value(formula, assignment) == 1) return std::nullopt;
    return std::vector<Binding>();
  }
  for (bool more = evaluator.first(formula.variables, assignment); more;
       more = evaluator.next(formula.variables, assignment)) {
    if (evaluator.value(formula.operands[0], assignment) == 1) continue;
    std::vector<Binding> witness;
    for (const Variable& variable : formula.variables) {
      witness.push_back({variable.name, variable.sort, assignment[variable.slot]});
    }
    return witness;
  }
  return std::nullopt;
}

}  // namespace

std::optional<FailedPremise> first_failed_premise(const Definition& definition,
                                                  const GroupState& before) {
  Evaluator evaluator(definition, before);
  for (std::size_t i = 0; i < definition.premises.size(); ++i) {
    if (auto witness = refutation(definition.premises[i].formula, evaluator)) {
      return FailedPremise{i, std::move(*witness)};
    }
  }
  return std::nullopt;
}

GroupState post_state(const Definition& definition, const GroupState& before) {
  Evaluator evaluator(definition, before);
  GroupState after(before.devices(), before.chunks(), before.contributors());
  Assignment assignment{};
  for (std::uint32_t position = 0; position < before.devices(); ++position) {
    for (std::uint32_t chunk = 0; chunk < before.chunks(); ++chunk) {
      for (std::uint32_t contributor = 0; contributor < before.contributors(); ++contributor) {
        assignment[0] = position;
        assignment[1] = chunk;
        assignment[2] = contributor;
        const bool held = evaluator.value(definition.post_state.formula, assignment) == 1;
        after.set(position, chunk, contributor, held);
      }
    }
  }
  return after;
}

std::uint64_t measure(const Definition& definition, const GroupState& state) {
  return Evaluator(definition, state).value(definition.measure, Assignment{});
}

}  // namespace p2::language
