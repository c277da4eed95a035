#pragma once

#include <iosfwd>
#include <vector>

#include "proofs/claims/written_certificate.h"

namespace p2::claims {

/// Writes, in Markdown, which statements of the paper were found true and false, and for each false
/// one the smallest counterexample drawn step by step, the claim that repairs it, and the weakest
/// condition under which it was refuted on no system tried. The request must have asked for every
/// system. `certificates`: of some of the results; the others are `solver-only`.
void write_errata(const std::vector<Result>& results, const Request& request,
                  const ResultCertificates& certificates, std::ostream& out);

}  // namespace p2::claims
