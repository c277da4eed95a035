#pragma once

#include <memory>

#include "cli/run/rank_place.h"
#include "cli/run/run_plan.h"
#include "engine/execution/plans/plan_job.h"

namespace p2 {

/// Where plans run.
class PlanPlace : public RankPlace {
 public:
  /// Opens the backend; where that takes other processes, starts them, has them do what `words`
  /// say, a command and its arguments, and waits for them. Throws InputError for a backend that
  /// this build lacks, std::length_error where memory is lacking, and Interrupted where a library
  /// fails.
  void open(const PlanRunOptions& options, const std::vector<reshard::Plan>& plans,
            const CommonOptions& common, const Arguments& words);

  /// Nothing where the processes that were started have done it all.
  reshard::PlanBackend* backend() const { return backend_.get(); }

 private:
  void open_mpi(std::uint32_t ranks, const CommonOptions& common, const Arguments& words);
  void open_nccl(std::uint32_t ranks, const PlanRunOptions& options, const CommonOptions& common);

  std::unique_ptr<reshard::PlanBackend> backend_;
};

}  // namespace p2
