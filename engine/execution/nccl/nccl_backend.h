#pragma once

#include <memory>

#include "engine/execution/processes/process_backend.h"

namespace p2::execution {

/// A process per rank, on buffers in the memory of its GPU, with one stream. Collectives are those
/// of NCCL on a communicator per distinct set of groups (ncclCommSplit: colour = group, key =
/// position). The sends and receives of a step are one group (ncclGroupStart, ncclGroupEnd) of
/// ncclSend and ncclRecv in order, packed and unpacked on the same stream. Several ranks share a
/// GPU where there are fewer GPUs than ranks: that is for tests.
///
/// Not run on a GPU yet (docs/execution.md): tested against a stand-in for NCCL on host memory.
class NcclBackend final : public ProcessBackend {
 public:
  /// Selects GPU `local_rank` modulo their number and joins the other ranks. Throws InputError
  /// where there is no GPU, Interrupted where NCCL fails. Neither this process nor the one that it
  /// was forked from may have used CUDA before.
  NcclBackend(std::unique_ptr<ControlChannel> channel, std::uint32_t local_rank,
              std::uint32_t local_ranks);
  ~NcclBackend() override;

  class Device;

 private:
  std::unique_ptr<Rank> make_rank(const Job& job) override;

  std::unique_ptr<Device> device_;
};

}  // namespace p2::execution
