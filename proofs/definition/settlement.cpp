#include "proofs/definition/settlement.h"

#include <algorithm>

#include "proofs/definition/claim.h"
#include "proofs/definition/step.h"

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

void Settlement::refute(const language::GroupState& state, bool by_z3) {
  if (by_z3) z3_ = Outcome::Refuted;
  by_states_ = Outcome::Refuted;
  counterexample_ = state;
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
  bool none_breaks(const std::vector<Claim>& claims) { return refuted(some_broken(claims)); }
  /// Whether Z3 finds a legal step that breaks one of the claims.
  bool some_breaks(const std::vector<Claim>& claims) {
    const z3::expr breaks = step_.legal() && some_broken(claims);
    return find_state(context_, step_.before(), breaks, limits_, false).state.has_value();
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
  z3::expr some_broken(const std::vector<Claim>& claims) {
    z3::expr_vector any(context_);
    for (const Claim claim : claims) any.push_back(broken(context_, claim, step_));
    return z3::mk_or(any);
  }

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

Settlements settle_claims(const Subject& subject, const std::vector<Exploration>& seen,
                          const Scope& scope) {
  const Limits& limits = scope.limits;
  if (scope.progress != nullptr) scope.progress->of = static_cast<std::uint32_t>(seen.size());
  Settlements settled;
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
    if (scope.progress != nullptr) ++scope.progress->shapes;
  }
  return settled;
}

namespace {

/// The effort for one shape of a probe: random states, and Z3's units of work for a question.
constexpr std::uint32_t kProbeSamples = 60;
constexpr std::uint64_t kProbeWork = 500'000;
/// Larger states are not asked about the measure, whose formulas grow with the square of k.
constexpr std::uint32_t kMaxMeasuredBits = 160;

std::vector<Claim> claims_to_probe(const ProvedClaims& proved, const Settlements& settled) {
  std::vector<Claim> claims;
  for (const Claim claim :
       {Claim::NothingInvented, Claim::ChunksApart, Claim::SumsWhole, Claim::NoDoubleCount,
        Claim::Realisable, Claim::KeepsAll, Claim::MeasureRises, Claim::ContributorsAlike}) {
    if (!proved[index_of(claim)] && settled[index_of(claim)].open()) claims.push_back(claim);
  }
  return claims;
}

/// The smallest of some random states that breaks the claims, for each of them.
void probe_states(const Subject& subject, const Shape& shape, const std::vector<Claim>& claims,
                  const Scope& scope, Settlements& settled) {
  std::array<std::optional<language::GroupState>, kClaims.size()> found;
  const auto visit = [&](const language::GroupState& before) {
    const std::optional<Step> step = take(subject.definition, before);
    if (!step) return;
    for (const Claim claim : claims) {
      auto& smallest = found[index_of(claim)];
      if (smallest && amount(*smallest) <= amount(before)) continue;
      if (violation(claim, *step)) smallest = before;
    }
  };
  for_each_state(shape, false, scope.seed, scope.limits, visit, kProbeSamples);
  for (const Claim claim : claims) {
    const auto& state = found[index_of(claim)];
    if (state) settled[index_of(claim)].refute(*state, false);
  }
}

/// Enters a state that Z3 found into those claims that are open and that a step from it breaks.
void note_state(const Subject& subject, const language::GroupState& state,
                const std::vector<Claim>& claims, Settlements& settled) {
  const std::optional<Step> step = take(subject.definition, state);
  if (!step) return;
  for (const Claim claim : claims) {
    Settlement& settlement = settled[index_of(claim)];
    if (settlement.open() && violation(claim, *step)) settlement.refute(state, true);
  }
}

void probe_by_z3(const Subject& subject, const Shape& shape, const std::vector<Claim>& claims,
                 const Limits& limits, z3::context& context, Settlements& settled) {
  ShapeQuestions z3(context, subject.rule, shape, limits);
  std::vector<Claim> easy = claims;
  std::erase(easy, Claim::MeasureRises);
  const bool easy_break = !easy.empty() && z3.some_breaks(easy);
  for (const Claim claim : claims) {
    Settlement& settlement = settled[index_of(claim)];
    if (!settlement.open()) continue;
    const bool measure = claim == Claim::MeasureRises;
    if (measure ? shape.bits() > kMaxMeasuredBits : !easy_break) continue;
    const StateAnswer answer = z3.ask(claim, true);
    if (answer.state) note_state(subject, *answer.state, claims, settled);
    // A state that the interpreter does not confirm is a difference.
    if (answer.state && settlement.open()) {
      settlement.note(shape, answer, {}, [](const language::GroupState&) { return false; });
    }
  }
}

}  // namespace

void probe_claims(const Subject& subject, const ProvedClaims& proved, const Scope& scope,
                  Settlements& settled) {
  Limits limits = scope.limits;
  limits.work = std::min(limits.work.value_or(kProbeWork), kProbeWork);
  z3::context context;
  for (const Shape& shape : probe_shapes(subject.definition, scope.max_group)) {
    if (limits.exceeded(0)) return;
    probe_states(subject, shape, claims_to_probe(proved, settled), scope, settled);
    const std::vector<Claim> open = claims_to_probe(proved, settled);
    if (open.empty()) return;
    probe_by_z3(subject, shape, open, limits, context, settled);
  }
}

}  // namespace p2::definition
