#pragma once

#include <memory>

#include "engine/execution/processes/process_backend.h"

namespace p2::execution {

/// A process per rank, on buffers in the memory of its GPU. Collectives are those of NCCL, on one
/// stream and a communicator per distinct set of groups (ncclCommSplit: colour = group, key =
/// position). Several ranks share a GPU where there are fewer GPUs than ranks: that is for tests.
///
/// Not run on a GPU yet (docs/execution.md): tested against a stand-in for NCCL on host memory.
class NcclBackend final : public ProcessBackend {
 public:
  /// Chooses GPU `local_rank` modulo their number, and joins the others. Throws InputError where
  /// there is no GPU, Interrupted where NCCL fails. This process must not have used CUDA before,
  /// nor the one it was forked from.
  NcclBackend(std::unique_ptr<RankWorld> world, std::uint32_t local_rank,
              std::uint32_t local_ranks);
  ~NcclBackend() override;

  class Device;

 private:
  std::unique_ptr<Rank> rank_for(const Job& job) override;

  std::unique_ptr<Device> device_;
};

}  // namespace p2::execution
