#pragma once

#include <string>
#include <vector>

#include "engine/reshard/plans/plan.h"
#include "p2/run.h"
#include "proofs/api/run_jobs.h"

namespace p2 {

/// A plan, and the file that it is from; none where it was just made.
struct PlanSource {
  std::string file;
  reshard::Plan plan;
};

/// The document of an answer, in the columns of nccl-tests. The answer has as many programs as were
/// reached.
Document program_report(const RunAnswer& answer, const ProgramJobs& jobs, const RunRequest& request,
                        std::uint64_t seed, bool complete);
Document plan_report(const RunAnswer& answer, const std::vector<PlanSource>& plans,
                     const RunRequest& request);

/// Runs one-sided plans with threads (onesided::run_with_threads). A plan that is refused is run
/// with `force` only.
RunAnswer run_onesided(const RunRequest& request, const Options& options);

}  // namespace p2
