#pragma once

#include <vector>

#include "engine/execution/job.h"
#include "engine/execution/rank.h"

namespace p2::execution {

/// Something that can run jobs on as many ranks as their plans have devices.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Runs the job on all ranks. Throws Interrupted when a limit is met or a rank fails; nothing
  /// more can be run then.
  ///
  /// Backends of several processes have every rank call it, in the same order. Each gets what it
  /// issued itself, and times and audits of all ranks.
  virtual std::vector<RankResult> run(const Job& job) = 0;
  /// Whether this process is to report: always, or the process of rank 0.
  virtual bool reports() const { return true; }
  /// Whether this process runs a rank: all of them, or its own.
  virtual bool runs(std::uint32_t /*rank*/) const { return true; }
};

}  // namespace p2::execution
