#pragma once

#include "engine/execution/processes/plan_processes.h"

namespace p2::reshard {

/// A process per device. The operations of a step are calls of MPI_Isend and MPI_Irecv in their
/// order, of what is packed or to be unpacked, and one of MPI_Waitall. A plan with a message of
/// more elements than an int counts is refused with InputError before it begins.
class PlanMpi final : public PlanProcesses {
 public:
  /// The world must be that of MPI (mpi_world).
  using PlanProcesses::PlanProcesses;

 private:
  std::unique_ptr<DeviceLink> link_for(const PlanJob& job) override;
};

}  // namespace p2::reshard
