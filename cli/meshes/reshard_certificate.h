#pragma once

#include <iosfwd>

#include "cli/meshes/reshard_report.h"

namespace p2 {

/// Writes the certificate that was asked for, and notes it in `answer`: that no schedule is shorter
/// than this one or, where it is not optimal, than the lower bound. False, and the reason on `err`,
/// where there is none that p2-check could check. Throws InputError where the folder cannot be
/// written.
bool certify_schedule(const ReshardRequest& request, const SchedulingProblem& problem,
                      ReshardAnswer& answer, std::ostream& err);

}  // namespace p2
