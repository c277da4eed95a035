#pragma once

#include "engine/strategy/strategy.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// The certificate of the claim `strategy-optimal`: that no strategy of the graph costs less than
/// the one of `answer`, which is optimal. Throws std::length_error when a file would be larger, or
/// checking it would take more work, than p2-check allows.
CertificateFiles strategy_certificate(const strategy::Graph& graph, const strategy::Answer& answer,
                                      const Provenance& provenance);

}  // namespace p2
