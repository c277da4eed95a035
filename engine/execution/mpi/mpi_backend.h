#pragma once

#include <memory>

#include "engine/execution/processes/process_backend.h"

namespace p2::execution {

/// A process per rank, on buffers in its own memory. Collectives are those of the MPI library, on a
/// communicator per distinct set of groups. No bfloat16.
class MpiBackend final : public ProcessBackend {
 public:
  /// The world must be that of MPI (mpi_world).
  explicit MpiBackend(std::unique_ptr<RankWorld> world);
  ~MpiBackend() override;

  struct Communicators;

 private:
  std::unique_ptr<Rank> rank_for(const Job& job) override;

  std::unique_ptr<Communicators> communicators_;
};

}  // namespace p2::execution
