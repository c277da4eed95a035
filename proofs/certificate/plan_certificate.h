#pragma once

#include <string>
#include <variant>

#include "engine/reshard/plans/plan.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// The certificate of the claim `onesided-valid` or `onesided-invalid`, for an execution plan of
/// MSCCL++ as its file has it; or why there is none that p2-check accepts. The checker is asked
/// before it is returned: it reads and orders the plan by itself, and decides fewer plans than the
/// engines.
std::variant<CertificateFiles, std::string> onesided_certificate(const std::string& plan,
                                                                 bool valid,
                                                                 const Provenance& provenance);

/// The same of the claims `algorithm-valid` and `algorithm-invalid`, for MSCCL XML.
std::variant<CertificateFiles, std::string> algorithm_certificate(const std::string& xml,
                                                                  bool valid,
                                                                  const Provenance& provenance);

/// The certificate of the claim `reshard-plan`, for a plan that is `right`, or
/// `reshard-plan-wrong`. Throws LimitReached for tensors and plans that are too large for p2-check.
CertificateFiles plan_certificate(const reshard::Plan& plan, bool right,
                                  const Provenance& provenance);

}  // namespace p2
