#pragma once

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/run_request.h"
#include "engine/execution/backend.h"
#include "engine/execution/processes/rank_board.h"

namespace p2 {

/// Where the programs of a request run: in this process, in this process as one rank of several, or
/// in processes that this one started and whose end it has seen.
class RunPlace {
 public:
  /// Opens the backend that the request names; where that takes other processes, starts them, has
  /// them do what `arguments` say, and waits for them. Throws InputError for a backend that this
  /// build lacks or programs that it cannot run, and std::length_error where memory is lacking.
  RunPlace(const RunRequest& request, const Arguments& arguments);

  /// Nothing where the processes that were started have done it all.
  execution::Backend* backend() const { return backend_.get(); }
  /// How they ended.
  const std::optional<int>& exit_code() const { return exit_code_; }
  const std::string& fault() const { return fault_; }

  /// As a rank of several: the last word, after which the process may end. Returns what the process
  /// is to exit with.
  int sign_out(int code);

 private:
  void open_mpi(const RunRequest& request, const Arguments& arguments);

  std::optional<execution::BoardMapping> board_;
  std::uint32_t rank_ = 0;
  std::unique_ptr<execution::Backend> backend_;
  std::optional<int> exit_code_;
  std::string fault_;
};

}  // namespace p2
