#pragma once

#include "engine/reshard/task_schedule.h"

namespace p2 {

/// The schedules that the paper compares with (section 3.2). None is optimal in general.

/// Every task is sent by its first host, in the order given.
TaskSchedule naive_schedule(const UnitTasks& tasks);

/// Longest tasks first, each sent by the one of its hosts that has the least to send so far: the
/// greedy of Eq. 4.
TaskSchedule load_balanced_schedule(const UnitTasks& tasks);

/// In rounds: of several random orders, the one that yields the set of tasks without a common host
/// that keeps the most hosts busy; the rounds' tasks start as early as they can.
TaskSchedule greedy_schedule(const UnitTasks& tasks, std::uint64_t seed);

}  // namespace p2
