#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/execution/rank.h"
#include "engine/execution/plans/region.h"
#include "engine/reshard/plans/plan.h"

namespace p2::reshard {

/// A plan to be run on real data. Any plan can be: what one does wrong shows in the data.
struct PlanJob {
  const Plan& plan;
  std::uint32_t number = 1;  ///< of the plan in the run
  unsigned warmup = 1;       ///< runs before the timed ones
  unsigned iterations = 5;   ///< timed runs; the last one, timed or not, is checked
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

/// What one device brings back.
struct DeviceResult {
  std::vector<double> seconds;  ///< by timed run
  std::uint64_t wrong = 0;      ///< elements that are not those of the tensor, after the last run
  /// The first of them: its number in the tensor, and what stands there; 0 is nothing.
  std::uint64_t where = 0;
  Word got = 0;
};

/// Something that can run plans.
class PlanBackend {
 public:
  virtual ~PlanBackend() = default;

  /// Runs the plan on all its devices. Throws execution::Interrupted when devices wait for each
  /// other for ever, a limit is met or a rank fails. Backends of several processes have every one
  /// of them call it, in the same order; each gets the results of all.
  virtual std::vector<DeviceResult> run(const PlanJob& job) = 0;
  /// Whether this process is to report: always, or the process of rank 0.
  virtual bool reports() const { return true; }
};

}  // namespace p2::reshard
