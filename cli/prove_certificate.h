#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "proofs/claims/campaign.h"

namespace p2 {

/// The folders of the certificates that were written, by the result whose counterexample they hold.
using CounterexampleCertificates = std::map<const claims::Result*, std::string>;

/// Writes into `folder`, for the smallest and the shortest counterexample of every row of the
/// summary that is a valid program, the certificate that it is valid. That a step of it breaks the
/// claim is not in the certificate: whoever reads it compares that step with the instructions of
/// the other hierarchy. Counterexamples that are single instructions get none. What cannot be
/// written is a complaint on `err` and sets `complaint`.
CounterexampleCertificates certify_counterexamples(const std::vector<claims::Result>& results,
                                                   const std::string& folder, std::uint64_t seed,
                                                   std::ostream& err, bool& complaint);

}  // namespace p2
