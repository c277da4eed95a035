#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/run/run_plan.h"

namespace p2 {

/// What became of one plan.
struct PlanRun {
  std::string refused;  ///< why it was not run
  bool ran = false;
  double seconds = 0;  ///< mean over the timed runs of the slowest device's time
  std::uint64_t wrong = 0;
  std::string first_wrong;
};

void print_text(const std::vector<PlanToRun>& plans, const std::vector<PlanRun>& runs,
                const PlanRunOptions& options, std::ostream& out);
void print_json(const std::vector<PlanToRun>& plans, const std::vector<PlanRun>& runs,
                const PlanRunOptions& options, std::ostream& out);

}  // namespace p2
