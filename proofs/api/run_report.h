#pragma once

#include <string>
#include <vector>

#include "engine/execution/elements.h"
#include "engine/execution/runtime.h"
#include "engine/program/program_file.h"
#include "engine/reshard/plans/plan.h"
#include "p2/run.h"

namespace p2 {

/// What `run` was asked, read and checked.
struct ProgramJobs {
  struct Source {
    std::string file;  ///< empty for a program of an instance
    ProgramFile read;

    const Instance* instance() const { return read.instance ? &*read.instance : nullptr; }
  };

  std::vector<Source> programs;
  std::vector<std::uint64_t> sizes;  ///< bytes per device, ascending
  execution::ElementType type = execution::ElementType::Float32;
  execution::Inputs::Kind inputs = execution::Inputs::Kind::Integers;
  execution::Check check = execution::Check::Steps;
  std::optional<execution::InjectedFault> fault;
};

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
