#pragma once

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/run/run_request.h"
#include "engine/execution/backend.h"
#include "engine/execution/processes/forked_ranks.h"

namespace p2 {

/// Where the programs of a request run: in this process, in this process as one rank of several, or
/// in processes that this one started and whose end it has seen.
class RunPlace {
 public:
  /// Opens the backend that the request names; where that takes other processes, starts them, has
  /// them do what `arguments` say, and waits for them. Throws InputError for a backend that this
  /// build lacks or programs that it cannot run, std::length_error where memory is lacking, and
  /// Interrupted where a library fails.
  void open(const RunRequest& request, const Arguments& arguments);

  /// Nothing where the processes that were started have done it all.
  execution::Backend* backend() const { return backend_.get(); }
  /// How they ended.
  const execution::SupervisedEnd& end() const { return end_; }

  /// Whether this process is a rank that is not to report.
  bool is_silent() const { return rank_ > 0; }
  /// As a rank of several: the last word, after which the process may end. Returns what the process
  /// is to exit with.
  int sign_out(int code);

 private:
  void open_mpi(const RunRequest& request, const Arguments& arguments);
  void open_nccl(const RunRequest& request, const Arguments& arguments);
  /// As one of the processes that mpirun started.
  std::unique_ptr<execution::RankWorld> join_mpi(std::uint32_t ranks);

  std::optional<execution::BoardMapping> board_of_starter_;
  std::unique_ptr<execution::ForkedRanks> forked_;
  execution::RankBoard* board_ = nullptr;  // of one of the two
  std::uint32_t rank_ = 0;
  std::unique_ptr<execution::Backend> backend_;
  execution::SupervisedEnd end_;
};

}  // namespace p2
