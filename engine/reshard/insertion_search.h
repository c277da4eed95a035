#pragma once

#include "engine/limits.h"
#include "engine/reshard/task_schedule.h"

namespace p2 {

/// Shortens a schedule by local search. Tasks in some order are each put where they can start the
/// earliest, in gaps too, on the sender that allows it; then single tasks change their places in
/// the order, mostly those that end after `enough`, and a change stays if what comes of it is no
/// worse than what was there some changes ago. Stops at a makespan of `enough`, after a number of
/// changes that grows with the number of tasks, or at the deadline. Never gives a longer schedule
/// than `first`.
TaskSchedule insertion_search(const UnitTasks& tasks, const TaskSchedule& first,
                              std::int64_t enough, std::uint64_t seed, const Limits& limits);

}  // namespace p2
