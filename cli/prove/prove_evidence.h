#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proofs/certificate/certificate_folder.h"
#include "proofs/claims/campaign.h"

namespace p2 {

/// What clauses say of a result that holds by another engine; of a claim about costs, from which
/// programs on nothing is cheaper, also where it is refuted.
struct ClaimEvidence {
  std::string claim;      ///< of the certificate
  claims::Answer answer;  ///< refuted where the engines disagree
  /// Where it holds, the certificate for programs of at most answer.settled steps. Throws
  /// std::length_error like those of proofs/certificate/absence_certificate.h.
  using Certificate = std::function<CertificateFiles(const Provenance& provenance)>;
  Certificate certificate;
  /// Of a claim about costs that is refuted: that nothing over the hierarchies, here by name, is as
  /// cheap.
  std::vector<std::pair<std::string, Certificate>> others = {};
};

/// Nothing where no certificate speaks of the claim.
std::optional<ClaimEvidence> evidence_for(const claims::Question& question,
                                     const claims::Bounds& bounds);

}  // namespace p2
