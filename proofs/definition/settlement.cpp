#include "proofs/definition/settlement.h"

#include <algorithm>

#include "proofs/definition/claim.h"

namespace p2::definition {

void Settlement::note(const Shape& shape, const StateAnswer& z3, const Seen& seen,
                      const std::function<bool(const language::GroupState&)>& confirmed) {
  last_ = std::max(last_, shape.devices);
  if (!seen.complete && !incomplete_from_) incomplete_from_ = shape.devices;
  if (!seen.complete && by_states_ == Outcome::Established) by_states_ = Outcome::Undecided;
  if (!z3.decided) z3_ = Outcome::Undecided;
  if (!z3.decided && !seen.complete) undecided_ = true;
  if (z3.state && !confirmed(*z3.state)) {
    difference_ = Difference{{}, shape, "refuted", "holds", z3.state};
    return;
  }
  if (z3.decided && !z3.state && seen.breaks) {
    difference_ = Difference{{}, shape, "holds", "refuted", seen.breaks};
    return;
  }
  if (z3.state) z3_ = Outcome::Refuted;
  if (z3.state || seen.breaks) by_states_ = Outcome::Refuted;
  counterexample_ = z3.state;
  if (seen.breaks && (!z3.state || amount(*seen.breaks) <= amount(*z3.state))) {
    counterexample_ = seen.breaks;
  }
}

Outcome Settlement::verdict() const {
  if (counterexample_) return Outcome::Refuted;
  return undecided_ || difference_ ? Outcome::Undecided : Outcome::Established;
}

namespace {

/// Z3 on the claims about one shape.
class ShapeQuestions {
 public:
  ShapeQuestions(z3::context& context, const z3_encoding::Rule& rule, const Shape& shape,
                 const Limits& limits)
      : context_(context), step_(context, rule, symbolic_rows(context, shape)), limits_(limits) {}

  /// Whether no legal step breaks any of the claims: one question instead of many, of which the
  /// most are answered so.
  bool none_breaks(const std::vector<Claim>& claims) {
    z3::expr_vector any(context_);
    for (const Claim claim : claims) any.push_back(broken(context_, claim, step_));
    return refuted(z3::mk_or(any));
  }

  /// A state from which a legal step breaks the claim.
  StateAnswer ask(Claim claim, bool smallest) {
    if (claim == Claim::MeasureRises) {
      const auto stuck = measure_stuck_by_chunk(context_, step_);
      if (stuck && refuted(*stuck)) return {true, std::nullopt};
    }
    const z3::expr breaks = step_.legal() && broken(context_, claim, step_);
    return find_state(context_, step_.before(), breaks, limits_, smallest);
  }

 private:
  bool refuted(const z3::expr& condition) {
    const StateAnswer answer =
        find_state(context_, step_.before(), step_.legal() && condition, limits_, false);
    return answer.decided && !answer.state;
  }

  z3::context& context_;
  SymbolicStep step_;
  const Limits& limits_;
};

}  // namespace

std::array<Settlement, kClaims.size()> settle_claims(const Subject& subject,
                                                     const std::vector<Exploration>& seen,
                                                     const Limits& limits) {
  std::array<Settlement, kClaims.size()> settled;
  z3::context context;  // one for all shapes: Z3 takes long to make and to delete them
  for (const Exploration& explored : seen) {
    // Building formulas takes time that no solver watches.
    std::optional<ShapeQuestions> z3;
    if (!limits.exceeded(0)) z3.emplace(context, subject.rule, explored.shape, limits);
    std::vector<Claim> easy;
    for (const Claim claim : kClaims) {
      if (claim != Claim::MeasureRises && settled[index_of(claim)].open()) easy.push_back(claim);
    }
    const bool easy_hold = z3 && z3->none_breaks(easy);
    for (const Claim claim : kClaims) {
      Settlement& settlement = settled[index_of(claim)];
      if (!settlement.open()) continue;
      // Where all states were looked at, the smallest one is known already.
      StateAnswer answer{easy_hold && claim != Claim::MeasureRises, std::nullopt};
      if (z3 && !answer.decided) answer = z3->ask(claim, !explored.complete);
      const auto confirmed = [&](const language::GroupState& before) {
        const std::optional<Step> taken = take(subject.definition, before);
        return taken && violation(claim, *taken);
      };
      settlement.note(explored.shape, answer, {explored.complete, explored.breaks[index_of(claim)]},
                      confirmed);
    }
  }
  return settled;
}

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
StateAnswer find_legal(z3::context& context, const Subject& subject, const Shape& shape,
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
    const StateAnswer z3 =
        find_legal(context, subject, explored.shape, all_premises(subject), limits);
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
    const StateAnswer answer = find_legal(context, subject, shape, premises, limits);
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
  for (std::uint32_t n = kMinGroup; n <= seen.back().shape.devices; ++n) {
    const GroupAnswer answer = answer_for(subject, seen, n, limits);
    if (answer.difference) {
      result.difference = answer.difference;
      result.verdict = Outcome::Undecided;
      return result;
    }
    const bool some = answer.by_z3 || answer.by_states;
    const bool settled = some || answer.z3_decided || answer.all_states;
    if (settled) (some ? result.groups : result.vacuous).push_back(n);
    if (!settled) result.verdict = Outcome::Undecided;
    if (!answer.by_z3 && !answer.z3_decided) result.z3 = Outcome::Undecided;
    // The interpreter has seen that Z3's state is legal.
    if (!some && !answer.all_states) result.by_states = Outcome::Undecided;
  }
  if (result.vacuous.empty()) return result;
  result.verdict = Outcome::Refuted;
  if (result.z3 == Outcome::Established) result.z3 = Outcome::Refuted;
  if (result.by_states == Outcome::Established) result.by_states = Outcome::Refuted;
  result.excluding = excluding_premises(subject, result.vacuous.front(), limits);
  return result;
}

}  // namespace p2::definition
