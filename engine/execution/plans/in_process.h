#pragma once

#include "engine/execution/plans/plan_job.h"

namespace p2::reshard {

/// A thread per device. A send waits for its receive, which takes the elements out of the sender's
/// buffer. That devices wait for each other for ever is seen at once.
class PlanInProcess final : public PlanBackend {
 public:
  std::vector<DeviceResult> run(const PlanJob& job) override;
};

}  // namespace p2::reshard
