#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "engine/reshard/unit_task.h"

/// Section 3.2 of "On Optimizing the Communication of Model Parallelism" (MLSys 2023) as printed,
/// for small sets of unit tasks: all functions take exponential time.
namespace p2::claims {

/// Eq. 4: the smallest possible maximum load of a sender.
std::int64_t least_load(const UnitTasks& tasks);

/// The maximum load of a sender by the greedy rule: longest tasks first, each to the least loaded
/// of its senders; ties are broken optimally.
std::int64_t greedy_load(const UnitTasks& tasks);

/// The maximum load of a receiver.
std::int64_t receiver_load(const UnitTasks& tasks);

/// The lower bound of the depth-first search: in each branch the remaining tasks are added to the
/// loads of senders by the greedy rule, and to those of their receivers. Returns this bound and the
/// least completion time of the branch in which the bound exceeds it most.
std::pair<std::int64_t, std::int64_t> depth_first_bound(const UnitTasks& tasks);

/// The size of a set of tasks.
struct TaskSetSize {
  std::size_t tasks = 1;
  std::uint32_t senders = 1;
  std::uint32_t receivers = 1;
  std::int64_t total = 1;  ///< of all task sizes
};

/// Visits all sets of tasks of that size up to the order of tasks, the longest first, until `visit`
/// returns false; each task has some of the senders and some of the receivers. Returns whether all
/// were visited.
bool for_each_task_set(const TaskSetSize& size, std::int64_t longest,
                       const std::function<bool(const UnitTasks&)>& visit);

}  // namespace p2::claims
