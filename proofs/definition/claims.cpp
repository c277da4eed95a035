#include "proofs/definition/measure_by_chunk.h"
#include "proofs/definition/question.h"
#include "proofs/definition/symbolic_violation.h"
#include "proofs/definition/violation.h"

namespace p2::definition {
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
  Answer ask(Claim claim, bool smallest) {
    if (claim == Claim::MeasureRises) {
      const auto stuck = measure_stuck_by_chunk(context_, step_);
      if (stuck && refuted(*stuck)) return {true, std::nullopt};
    }
    const z3::expr breaks = step_.legal() && broken(context_, claim, step_);
    return find_state(context_, step_.before(), breaks, limits_, smallest);
  }

 private:
  bool refuted(const z3::expr& condition) {
    const Answer answer =
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
      Answer answer{easy_hold && claim != Claim::MeasureRises, std::nullopt};
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

}  // namespace p2::definition
