#pragma once

#include "engine/execution/nccl/nccl_backend.h"
#include "engine/execution/processes/plan_processes.h"

namespace p2::reshard {

/// A process per device, on buffers in the memory of its GPU. The operations of a step are calls of
/// ncclSend and ncclRecv in their order, in one group (ncclGroupStart, ncclGroupEnd), of what is
/// packed or to be unpacked on the same stream.
///
/// Not run on a GPU yet (docs/execution.md): tested against a stand-in for NCCL on host memory.
class PlanNccl final : public PlanProcesses {
 public:
  /// As NcclBackend.
  PlanNccl(std::unique_ptr<execution::RankWorld> world, std::uint32_t local_rank,
           std::uint32_t local_ranks);
  ~PlanNccl() override;

 private:
  std::unique_ptr<DeviceLink> link_for(const PlanJob& job) override;

  std::unique_ptr<execution::NcclBackend::Device> device_;
};

}  // namespace p2::reshard
