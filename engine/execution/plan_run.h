#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/execution/runtime.h"

namespace p2::execution {

/// A resharding plan on real data: a step is a set of sends and receives that are pending at once.
/// Devices start together and then proceed at their own pace. Any plan can be run: what is wrong
/// with it shows in the data, as a deadlock, or both.
class PlanRun final : public Workload {
 public:
  /// `plan` must outlive this.
  explicit PlanRun(const reshard::Plan& plan);

  WorkloadKind kind() const override { return WorkloadKind::Plan; }
  std::uint32_t ranks() const override { return plan_.problem.devices(); }
  std::size_t steps(std::uint32_t rank) const override { return plan_.programs[rank].size(); }
  std::size_t max_steps() const override { return max_steps_; }
  bool lockstep() const override { return false; }
  const std::vector<std::vector<Group>>& partitions() const override { return no_partitions_; }
  std::array<std::size_t, 2> buffer_bytes(std::uint32_t rank) const override;
  std::int64_t max_message() const override { return max_message_; }
  std::size_t message_bytes(std::uint32_t rank) const override;
  void fill(Rank& rank) const override;
  void run_step(Rank& rank, std::size_t step, std::vector<Issued>* issued) const override;
  bool matches(std::uint32_t /*rank*/, const std::vector<Issued>& issued) const override {
    return issued.empty();
  }
  Audit audit_step(Rank& /*rank*/, std::size_t /*step*/) const override { return {}; }
  /// An element that is missing is one that the device never received.
  Audit audit_result(Rank& rank) const override;

 private:
  const reshard::Plan& plan_;
  std::vector<Regions> regions_;  // by device
  std::size_t max_steps_ = 0;
  std::int64_t max_message_ = 0;
  std::vector<std::vector<Group>> no_partitions_;
};

}  // namespace p2::execution
