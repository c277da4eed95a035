#pragma once

#include <iosfwd>

#include "cli/cost/cost_request.h"

namespace p2 {

/// `cost --fit`: fits bandwidths to measured times (docs/cost.md has the columns), writes the
/// fitted system to --output and prints what changed and how well it predicts, for the rows that
/// were fitted to and for those that were held out. Returns an exit code. Throws InputError for bad
/// measurements, programs that are not valid, and links that the system does not have.
int run_cost_fit(const CostRequest& request, std::ostream& out);

}  // namespace p2
