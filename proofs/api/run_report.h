#pragma once

#include <string>
#include <string_view>
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

/// `in-process`, `mpi`, `nccl`.
std::string_view backend_name(RunBackend backend);

/// The document of an answer, in the columns of nccl-tests. The answer has as many programs as were
/// reached.
Document program_report(const RunAnswer& answer, const ProgramJobs& jobs, const RunRequest& request,
                        std::uint64_t seed, bool complete);
Document plan_report(const RunAnswer& answer, const std::vector<PlanSource>& plans,
                     const RunRequest& request);

/// The plans of the runs that a request with `dry_run` asks for, by classes of ranks that make the
/// same calls. Of programs whose steps are instructions they do not take longer for more devices.
RunAnswer plan_programs(const RunRequest& request, const GivenInstance& given,
                        const Options& options);

/// Runs one-sided plans with threads (onesided::run_with_threads). A plan that is refused is run
/// with `force` only.
RunAnswer run_onesided(const RunRequest& request, const Options& options);

}  // namespace p2
