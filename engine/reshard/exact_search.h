#pragma once

#include <atomic>
#include <cstdint>

#include "p2/limits.h"
#include "engine/reshard/partial_schedule.h"
#include "engine/reshard/task_schedule.h"

namespace p2 {

/// How far a search is, for another thread to look at.
struct ScheduleSearchProgress {
  std::atomic<std::uint64_t> states{0};
  std::atomic<std::int64_t> best{0};
};

struct ExactSchedule {
  TaskSchedule schedule;
  LowerBound bound;              ///< of all schedules, before any search
  std::int64_t lower_bound = 0;  ///< what the search has shown; the makespan where it is optimal
  std::uint64_t states = 0;      ///< 0 where the schedule meets `bound` without a search
  bool optimal() const { return schedule.makespan == lower_bound; }
};

/// The shortest schedule of Eq. 1–3: which of its hosts sends each task, and in which order tasks
/// start. Branch and bound in the order of starts, after heuristics for a first schedule; states
/// that are no better than one already explored are not gone into. Stops at the deadline with the
/// best schedule so far and a lower bound. `limits.memory_bytes` bounds what it remembers, not how
/// far it gets. The same tasks, seed and limits give the same answer unless a deadline is met or
/// near.
ExactSchedule exact_schedule(const UnitTasks& tasks, const SchedulingProblem& problem,
                             std::uint64_t seed, const Limits& limits,
                             ScheduleSearchProgress& progress);

}  // namespace p2
