#include "cli/prove/prove_evidence.h"

#include "proofs/certificate/absence_certificate.h"
#include "proofs/claims/arbitrary_groups.h"
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

}  // namespace

std::optional<Evidence> evidence_for(const claims::Question& question,
                                     const claims::Bounds& bounds) {
  const bool lists = question.claim->settles == claims::synthesis_complete;
  const bool mixing = speaks_of_mixing(*question.claim);
  if (!lists && !mixing && question.claim->forbids != claims::not_expressible) return std::nullopt;
  const claims::Subject subject(*question.system, question.from, question.to, question.dialect);
  if (lists) {
    auto [answer, proof] = claims::list_and_refute_others(subject, bounds);
    return Evidence{
        "synthesis-complete", answer, [=, from = subject.from](const Provenance& provenance) {
          return synthesis_certificate(from, question.dialect, bounds.size, proof, provenance);
        }};
  }
  auto [answer, proof] =
      mixing ? claims::no_mixing_program_by_clauses(subject, bounds)
             : claims::settle_by_clauses(subject, question.claim->forbids(subject), bounds);
  const auto certificate = [=, from = subject.from](const Provenance& provenance) {
    if (mixing) {
      return unmixed_certificate(from.grid.devices(), from.classes(), question.dialect,
                                 answer.settled, proof, provenance);
    }
    return expressible_certificate(from, *question.to, question.dialect, bounds.size, proof,
                                   provenance);
  };
  return Evidence{mixing ? "unmixed" : "expressible", answer, certificate};
}

}  // namespace p2
