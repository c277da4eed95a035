#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/execution/processes/launch.h"
#include "p2/limits.h"
#include "p2/run.h"

namespace p2 {

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

}  // namespace p2
