#pragma once

#include <utility>
#include <vector>

#include "engine/reshard/scheduling_problem.h"
#include "engine/reshard/task_schedule.h"

namespace p2 {

/// Which class starts a task next, and its sender.
using StartSequence = std::vector<std::pair<std::size_t, std::size_t>>;

/// The schedule in which tasks start in this order, as early as they can; of equal tasks the first
/// ones first.
TaskSchedule to_schedule(const UnitTasks& tasks, const SchedulingProblem& problem,
                         const StartSequence& sequence);

/// The best of many schedules that always start next what can start the earliest. Ties go to what
/// has the most work waiting behind it, then also by chance. Stops at a makespan of `enough`.
TaskSchedule list_schedule(const UnitTasks& tasks, const SchedulingProblem& problem,
                           std::int64_t enough, std::uint64_t seed);

}  // namespace p2
