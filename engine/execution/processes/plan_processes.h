#pragma once

#include <memory>

#include "engine/execution/processes/rank_world.h"
#include "engine/execution/plans/device_link.h"

namespace p2::reshard {

/// A backend of which this process runs one device: that with the number of its rank. Ranks beyond
/// the devices of a plan wait while it runs.
class PlanProcesses : public PlanBackend {
 public:
  explicit PlanProcesses(std::unique_ptr<execution::RankWorld> world) : world_(std::move(world)) {}

  std::vector<DeviceResult> run(const PlanJob& job) final;
  bool reports() const final { return world_->rank() == 0; }

 protected:
  virtual std::unique_ptr<DeviceLink> link_for(const PlanJob& job) = 0;
  execution::RankWorld& world() { return *world_; }

 private:
  std::unique_ptr<execution::RankWorld> world_;
};

/// The most bytes that a rank tells the others after a job of so many timed runs.
std::size_t most_gathered_of_plan(unsigned iterations);

}  // namespace p2::reshard
