#pragma once

#include "encodings/cnf/queries.h"
#include "engine/strategy/strategy.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

// Both throw LimitReached where a file would be larger, or checking it would take more work, than
// p2-check allows.

/// A certificate of the claim `strategy-optimal`: no strategy of the graph costs less than the one
/// of `answer`, which is optimal.
CertificateFiles strategy_certificate(const strategy::Graph& graph,
                                      const strategy::Solution& answer,
                                      const Provenance& provenance);

/// A certificate of the claim `strategy-optimal-clauses`: the same, by a refutation of clauses.
CertificateFiles strategy_certificate(const strategy::Graph& graph, const strategy::Found& found,
                                      const cnf::StrategyRefutation& refutation,
                                      const Provenance& provenance);

}  // namespace p2
