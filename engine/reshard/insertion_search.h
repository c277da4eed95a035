#pragma once

#include "p2/limits.h"
#include "engine/reshard/scheduling_problem.h"
#include "engine/reshard/task_schedule.h"

namespace p2 {

/// Shortens a schedule by simulated annealing. In every change a task, mostly one in a chain of
/// tasks that wait for each other for longer than `enough`, and some that start at about the same
/// time are taken out and put in again where the chains through them are short. The cost is how
/// much the chains of all tasks are longer than `enough`. A short round and some long ones go from
/// changes at random to those that cost less. Stops at a makespan of `enough`, or after a number of
/// changes that depends on the number of tasks. With a deadline and more kinds of tasks than a
/// search could ever go through it goes on, in rounds twice as long as the one before, until then.
/// A round that would not end in time is made shorter. Never gives a longer schedule than `first`.
TaskSchedule insertion_search(const UnitTasks& tasks, const SchedulingProblem& problem,
                              const TaskSchedule& first, std::int64_t enough, std::uint64_t seed,
                              const Limits& limits);

}  // namespace p2
