#pragma once

#include <memory>

#include "cli/commands.h"
#include "cli/run/rank_place.h"
#include "cli/run/run_request.h"
#include "engine/execution/backend.h"

namespace p2 {

/// Where the programs of a request run.
class RunPlace : public RankPlace {
 public:
  /// Opens the backend that the request names; where that takes other processes, starts them, has
  /// them do what `arguments` say, and waits for them. Throws InputError for a backend that this
  /// build lacks or programs that it cannot run, std::length_error where memory is lacking, and
  /// Interrupted where a library fails.
  void open(const RunRequest& request, const Arguments& arguments);

  /// Nothing where the processes that were started have done it all.
  execution::Backend* backend() const { return backend_.get(); }

 private:
  void open_mpi(const RunRequest& request, const Arguments& arguments);
  void open_nccl(const RunRequest& request);

  std::unique_ptr<execution::Backend> backend_;
};

}  // namespace p2
