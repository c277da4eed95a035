#pragma once

#include "engine/reshard/plans/plan.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// The certificate of the claim `reshard-plan`, for a plan that is `right`, or
/// `reshard-plan-wrong`. Throws LimitReached for tensors and plans that are too large for p2-check.
CertificateFiles plan_certificate(const reshard::Plan& plan, bool right,
                                  const Provenance& provenance);

}  // namespace p2
