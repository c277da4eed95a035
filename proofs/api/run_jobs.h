#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/execution/elements.h"
#include "engine/execution/processes/rank_processes.h"
#include "engine/execution/runtime.h"
#include "engine/program/program_file.h"
#include "engine/program/synthesis.h"
#include "engine/reshard/plans/plan.h"
#include "p2/limits.h"
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

/// The most ranks that a backend runs.
std::uint32_t max_ranks(RunBackend backend);

/// The flag of the first setting that is given and is for programs only; empty where none is.
std::string_view program_setting(const RunRequest& request);

/// The settings of a request, without programs. Throws InputError for texts that are malformed.
ProgramJobs read_settings(const RunRequest& request);
/// All programs of the instance of a request that names no files, by placement.
std::vector<PlacementPrograms> programs_of_instance(const RunRequest& request,
                                                    const GivenInstance& given,
                                                    const Options& options);

/// Reads the programs of a request and its settings; programs that the backend cannot run as they
/// are become such as it can. Throws InputError for texts that are malformed, settings without
/// effect, and definitions that are not sound where a program uses them.
ProgramJobs read_jobs(const RunRequest& request, const GivenInstance& given,
                      const Options& options);

/// The part of this process in a run: all ranks as threads, one rank of several processes, or the
/// process that starts the ranks and supervises them.
class RankSession {
 public:
  RankSession() = default;
  /// A rank that did not finish() has failed.
  ~RankSession();
  RankSession(const RankSession&) = delete;
  RankSession& operator=(const RankSession&) = delete;

  /// Opens the backend, which this owns. Processes that are needed are started, and supervised
  /// until they exit; then null is returned and exit() says how. `spec` is not used for threads.
  /// Throws InputError for a backend that this build lacks and a number of processes that does not
  /// fit, Interrupted where a library fails.
  execution::Backend* open(RunBackend backend, const execution::LaunchSpec& spec);

  const execution::SupervisedExit& exit() const { return exit_; }
  std::uint32_t rank() const { return rank_; }
  /// In a supervised rank, reports the exit code and returns 0; otherwise returns it.
  int finish(int code);

 private:
  execution::RankContext join_mpirun(const execution::LaunchSpec& spec);
  std::optional<execution::RankContext> join_or_fork(const execution::LaunchSpec& spec);

  std::optional<execution::BoardMapping> inherited_board_;
  std::unique_ptr<execution::ForkedRanks> forked_;
  execution::RankBoard* board_ = nullptr;  // of one of the two
  std::uint32_t rank_ = 0;
  execution::SupervisedExit exit_;
  std::unique_ptr<execution::Backend> backend_;
};

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
