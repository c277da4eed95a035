#pragma once

#include <atomic>
#include <cstdint>

#include "engine/reshard/scheduling_problem.h"
#include "engine/reshard/unit_task.h"
#include "p2/limits.h"

namespace p2 {

/// The state of a running search, for another thread to read.
struct ScheduleSearchProgress {
  std::atomic<std::uint64_t> states{0};
  std::atomic<std::int64_t> best{0};
};

struct ExactSchedule {
  TaskSchedule schedule;
  LowerBound bound;              ///< of all schedules, before any search
  std::int64_t lower_bound = 0;  ///< proved by the search; the makespan where it is optimal
  std::uint64_t states = 0;      ///< explored; 0 where the schedule meets `bound` without a search
  bool optimal() const { return schedule.makespan == lower_bound; }
};

/// The shortest schedule of Eq. 1–3: a sender for every task, and the order of starts. Branch and
/// bound over active schedules (Giffler and Thompson, 1960) in the order of starts, from the best
/// schedule of the heuristics; states dominated by an explored one are pruned. At a limit it
/// returns the best schedule found and the lower bound proved so far. The same tasks, seed and
/// limits give the same answer unless the deadline or the memory limit is near.
ExactSchedule exact_schedule(const UnitTasks& tasks, const SchedulingProblem& problem,
                             std::uint64_t seed, const Limits& limits,
                             ScheduleSearchProgress& progress);

}  // namespace p2
