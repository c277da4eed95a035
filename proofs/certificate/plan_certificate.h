#pragma once

#include "engine/reshard/plans/plan.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// The certificate of the claim `reshard-plan`, for a plan that is `right`, or
/// `reshard-plan-wrong`. Throws std::length_error for tensors and plans larger than p2-check reads.
CertificateFiles plan_certificate(const reshard::Plan& plan, bool right,
                                  const Provenance& provenance);

}  // namespace p2
