#pragma once

#include <cstdint>
#include <functional>

#include "engine/reshard/unit_task.h"

namespace p2::claims {

/// How many tasks, over how many hosts, and how long.
struct TaskSetSize {
  std::size_t tasks = 1;
  std::uint32_t senders = 1;
  std::uint32_t receivers = 1;
  std::int64_t total = 1;  ///< of all sizes
};

/// All sets of tasks of that size, each task with some of the senders and some of the receivers, up
/// to the order of tasks, the longest first. `visit` returns whether to go on; so does this.
bool for_each_task_set(const TaskSetSize& size, std::int64_t longest,
                       const std::function<bool(const UnitTasks&)>& visit);

}  // namespace p2::claims
