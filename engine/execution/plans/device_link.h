#pragma once

#include <functional>
#include <span>

#include "engine/execution/progress.h"
#include "engine/execution/plans/plan_job.h"

namespace p2::reshard {

/// One device of a backend: its two buffers, wherever they lie, and its operations on them.
class DeviceLink {
 public:
  virtual ~DeviceLink() = default;

  /// Makes both buffers what they are to be, in row-major order of the device's regions.
  virtual void fill(std::span<const Word> source, std::span<const Word> destination) = 0;
  /// Shows the destination buffer to `read`.
  virtual void show(const std::function<void(std::span<const Word>)>& read) = 0;
  /// Takes step number `step` of the device's program; returns when all its operations are done.
  virtual void take(std::size_t step) = 0;
  /// Returns when all devices have come here.
  virtual void meet() = 0;
};

/// Runs the program of one device and checks what it ends with. Before every run the destination
/// buffer is made empty. `progress` may be watched by others.
DeviceResult run_device(DeviceLink& link, std::uint32_t device, const PlanJob& job,
                        execution::RankProgress& progress);

}  // namespace p2::reshard
