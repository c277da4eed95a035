#pragma once

#include <memory>
#include <optional>

#include "cli/run/run_plan.h"
#include "engine/execution/processes/forked_ranks.h"
#include "engine/reshard/execution/plan_job.h"

namespace p2 {

/// Where plans run: in this process, in this process as one rank of several, or in processes that
/// this one started and whose end it has seen.
class PlanPlace {
 public:
  /// Opens the backend; where that takes other processes, starts them, has them do what `words`
  /// say, a command and its arguments, and waits for them. Throws InputError for a backend that
  /// this build lacks, std::length_error where memory is lacking, and Interrupted where a library
  /// fails.
  void open(const PlanRunOptions& options, const std::vector<reshard::Plan>& plans,
            const CommonOptions& common, const Arguments& words);

  /// Nothing where the processes that were started have done it all.
  reshard::PlanBackend* backend() const { return backend_.get(); }
  /// How they ended.
  const execution::SupervisedEnd& end() const { return end_; }
  /// Whether this process is a rank that is not to report.
  bool is_silent() const { return rank_ > 0; }
  /// As a rank of several: the last word, after which the process may end. Returns what the process
  /// is to exit with.
  int sign_out(int code);

 private:
  void open_mpi(std::uint32_t ranks, const CommonOptions& common, const Arguments& words);
  void open_nccl(std::uint32_t ranks, const PlanRunOptions& options, const CommonOptions& common);
  std::unique_ptr<execution::RankWorld> join_mpi(std::uint32_t ranks);

  std::optional<execution::BoardMapping> board_of_starter_;
  std::unique_ptr<execution::ForkedRanks> forked_;
  execution::RankBoard* board_ = nullptr;  // of one of the two
  std::uint32_t rank_ = 0;
  std::unique_ptr<reshard::PlanBackend> backend_;
  execution::SupervisedEnd end_;
};

}  // namespace p2
