#include "cli/prove/prove_evidence.h"

#include <fmt/format.h>

#include "proofs/certificate/absence_certificate.h"
#include "proofs/certificate/cost_certificate.h"
#include "proofs/claims/arbitrary_groups.h"
#include "proofs/claims/cheaper_groups.h"
#include "proofs/claims/completeness.h"
#include "proofs/claims/expressiveness.h"
#include "proofs/claims/free_groups.h"
#include "proofs/claims/mixing_clauses.h"

namespace p2 {
namespace {

bool speaks_of_mixing(const claims::Claim& claim) {
  return claim.settles == claims::mixing_takes_four_steps ||
         claim.settles == claims::mixing_takes_four_steps_by_z3 ||
         claim.settles == claims::groups_stay_in_classes;
}

/// That nothing is cheaper than the programs that the answer rests on.
std::optional<ClaimEvidence> evidence_of_costs(const claims::Question& question,
                                          const claims::Subject& subject,
                                          const claims::Bounds& bounds) {
  const claims::CostAnswer priced = question.claim->prices(subject, bounds);
  if (!priced.any_length) return std::nullopt;
  CheapestClaim claim{
      subject.from.grid.devices(), subject.from.classes(), question.dialect, std::nullopt,
      priced.network.uplinks(),    "hierarchies",          priced.programs};
  if (question.from == HierarchyKind::Lattice) claim.over = subject.from;
  for (const ProgramFile& file : claim.programs) {
    if (!file.instance) claim.among = "all";
  }
  const auto certificate = [](const CheapestClaim& what) {
    return [=](const Provenance& provenance) { return cheapest_certificate(what, provenance); };
  };
  ClaimEvidence evidence{"cheapest", priced.answer, certificate(claim)};
  if (priced.answer.verdict != claims::Outcome::Refuted) return evidence;
  claim.among = "hierarchies";
  claim.programs = priced.over_hierarchies;
  for (const Instance& instance : priced.hierarchies) {
    claim.over = instance;
    const std::string name =
        fmt::format("over-{}-{}", evidence.others.size() + 1, to_string(instance.hierarchy.kind()));
    evidence.others.emplace_back(name, certificate(claim));
  }
  return evidence;
}

/// That no valid program makes a move which the claim forbids.
ClaimEvidence evidence_of_forbidden_moves(const claims::Question& question,
                                     const claims::Subject& subject, const claims::Bounds& bounds) {
  auto [answer, proof] =
      claims::settle_by_clauses(subject, question.claim->forbids(subject), bounds);
  const bool compared = question.claim->forbids == claims::not_expressible;
  const auto certificate = [=, from = subject.from](const Provenance& provenance) {
    return compared ? expressible_certificate(from, *question.to, question.dialect, bounds.size,
                                              proof, provenance)
                    : unused_certificate(from, question.dialect, bounds.size, proof, provenance);
  };
  return {compared ? "expressible" : "unused", answer, certificate};
}

}  // namespace

std::optional<ClaimEvidence> evidence_for(const claims::Question& question,
                                     const claims::Bounds& bounds) {
  const bool lists = question.claim->settles == claims::synthesis_complete;
  const bool mixing = speaks_of_mixing(*question.claim);
  const bool priced = question.claim->prices != nullptr;
  if (!lists && !mixing && !priced && question.claim->forbids == nullptr) return std::nullopt;
  const claims::Subject subject(*question.system, question.from, question.to, question.dialect);
  if (priced) return evidence_of_costs(question, subject, bounds);
  if (lists) {
    auto [answer, proof] = claims::list_and_refute_others(subject, bounds);
    return ClaimEvidence{
        "synthesis-complete", answer, [=, from = subject.from](const Provenance& provenance) {
          return synthesis_certificate(from, question.dialect, bounds.size, proof, provenance);
        }};
  }
  if (mixing) {
    auto [answer, proof] = claims::no_mixing_program_by_clauses(subject, bounds);
    return ClaimEvidence{"unmixed", answer, [=, from = subject.from](const Provenance& provenance) {
                      return unmixed_certificate(from.grid.devices(), from.classes(),
                                                 question.dialect, answer.settled, proof,
                                                 provenance);
                    }};
  }
  return evidence_of_forbidden_moves(question, subject, bounds);
}

}  // namespace p2
