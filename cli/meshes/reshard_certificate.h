#pragma once

#include <iosfwd>

#include "cli/exit_code.h"
#include "cli/meshes/reshard_report.h"

namespace p2 {

/// Writes the certificate that was asked for, and notes it in `answer`: that no schedule is shorter
/// than this one or, where it is not optimal, than the lower bound. Another code than
/// kEstablished, and the reason on `err`, where there is none, or it cannot be written.
ExitCode certify_schedule(const ReshardRequest& request, const SchedulingProblem& problem,
                          ReshardAnswer& answer, std::ostream& err);

}  // namespace p2
