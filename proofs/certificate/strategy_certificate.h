#pragma once

#include "encodings/cnf/cheaper_strategy.h"
#include "engine/strategy/strategy.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// Both throw std::length_error when a file would be larger, or checking it would take more work,
/// than p2-check allows.

/// The certificate of the claim `strategy-optimal`: that no strategy of the graph costs less than
/// the one of `answer`, which is optimal.
CertificateFiles strategy_certificate(const strategy::Graph& graph, const strategy::Answer& answer,
                                      const Provenance& provenance);

/// The certificate of the claim `strategy-optimal-clauses`, which is the same, by a refutation of
/// `cheaper`.
CertificateFiles strategy_certificate(const strategy::Graph& graph, const strategy::Found& found,
                                      const cnf::CheaperStrategy& cheaper,
                                      const Provenance& provenance);

}  // namespace p2
