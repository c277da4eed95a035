#include <algorithm>

#include "proofs/definition/question.h"
#include "proofs/definition/step.h"
#include "proofs/definition/symbolic_step.h"

namespace p2::definition {
namespace {

using language::GroupState;

/// What both engines say of one group size.
struct GroupAnswer {
  bool z3_decided = true;
  bool all_states = true;
  std::optional<GroupState> by_z3;
  std::optional<GroupState> by_states;
  std::optional<Difference> difference;
};

/// A state with something in it that satisfies the premises in `premises`.
Answer find_legal(z3::context& context, const Subject& subject, const Shape& shape,
                  const std::vector<std::size_t>& premises, const Limits& limits) {
  if (limits.exceeded(0)) return {};
  SymbolicStep step(context, subject.rule, symbolic_rows(context, shape));
  z3::expr legal = holds_something(step.before());
  for (const std::size_t premise : premises) legal = legal && step.premise(premise);
  return find_state(context, step.before(), legal, limits, false);
}

std::vector<std::size_t> all_premises(const Subject& subject) {
  std::vector<std::size_t> all(subject.rule.definition.premises.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

/// Shape after shape, until Z3 has a state or none is left.
GroupAnswer answer_for(const Subject& subject, const std::vector<Exploration>& seen,
                       std::uint32_t devices, const Limits& limits) {
  GroupAnswer answer;
  z3::context context;
  for (const Exploration& explored : seen) {
    if (explored.shape.devices != devices) continue;
    const Answer z3 = find_legal(context, subject, explored.shape, all_premises(subject), limits);
    answer.z3_decided = answer.z3_decided && z3.decided;
    answer.all_states = answer.all_states && explored.complete;
    answer.by_z3 = z3.state;
    if (!answer.by_states) answer.by_states = explored.legal;
    if (z3.state && !legal(subject.definition, *z3.state)) {
      answer.difference = {"satisfiable", explored.shape, "holds", "refuted", z3.state};
    } else if (z3.decided && !z3.state && explored.legal) {
      answer.difference = {"satisfiable", explored.shape, "refuted", "holds", explored.legal};
    }
    if (answer.difference || answer.by_z3) break;
  }
  return answer;
}

bool excluded(const Subject& subject, std::uint32_t devices,
              const std::vector<std::size_t>& premises, const Limits& limits) {
  const std::vector<Shape> shapes = shapes_of(devices);
  z3::context context;
  return std::none_of(shapes.begin(), shapes.end(), [&](const Shape& shape) {
    const Answer answer = find_legal(context, subject, shape, premises, limits);
    return !answer.decided || answer.state;
  });
}

/// The premises without those that are not needed to exclude every state.
std::vector<std::size_t> excluding_premises(const Subject& subject, std::uint32_t devices,
                                            const Limits& limits) {
  std::vector<std::size_t> kept = all_premises(subject);
  for (const std::size_t premise : all_premises(subject)) {
    std::vector<std::size_t> fewer = kept;
    std::erase(fewer, premise);
    if (excluded(subject, devices, fewer, limits)) kept = fewer;
  }
  return kept;
}

}  // namespace

Satisfiability settle_satisfiability(const Subject& subject, const std::vector<Exploration>& seen,
                                     const Limits& limits) {
  Satisfiability result;
  for (std::uint32_t n = kLeastGroup; n <= seen.back().shape.devices; ++n) {
    const GroupAnswer answer = answer_for(subject, seen, n, limits);
    if (answer.difference) {
      result.difference = answer.difference;
      result.verdict = Verdict::Unknown;
      return result;
    }
    const bool some = answer.by_z3 || answer.by_states;
    const bool settled = some || answer.z3_decided || answer.all_states;
    if (settled) (some ? result.groups : result.vacuous).push_back(n);
    if (!settled) result.verdict = Verdict::Unknown;
    if (!answer.by_z3 && !answer.z3_decided) result.z3 = Verdict::Unknown;
    // The interpreter has seen that Z3's state is legal.
    if (!some && !answer.all_states) result.by_states = Verdict::Unknown;
  }
  if (result.vacuous.empty()) return result;
  result.verdict = Verdict::Refuted;
  if (result.z3 == Verdict::Holds) result.z3 = Verdict::Refuted;
  if (result.by_states == Verdict::Holds) result.by_states = Verdict::Refuted;
  result.excluding = excluding_premises(subject, result.vacuous.front(), limits);
  return result;
}

}  // namespace p2::definition
