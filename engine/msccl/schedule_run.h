#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/msccl/connections.h"

namespace p2::msccl {

/// An algorithm being run in one order, step by step, each one transmission: how far every thread
/// block and every connection has come. Knows nothing of happens-before.
class ScheduleRun {
 public:
  /// Precondition: mismatch() finds nothing.
  ScheduleRun(const Algorithm& algorithm, const std::vector<Connection>& connections);

  /// Whether the step is the next of its thread block, what it waits for is over, its message is
  /// there and there is room for what it sends.
  bool ready(StepPlace place) const;
  /// Precondition: it is ready.
  void run(StepPlace place);

 private:
  struct Fifo {
    std::size_t sent = 0;
    std::size_t received = 0;
  };
  struct Use {
    const Connection* sends_on = nullptr;
    const Connection* receives_on = nullptr;
  };

  const Algorithm& algorithm_;
  std::vector<std::vector<std::uint32_t>> done_;  ///< steps, by gpu and thread block
  std::map<const Connection*, Fifo> fifos_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Use> uses_;  ///< by gpu and thread block
};

}  // namespace p2::msccl
