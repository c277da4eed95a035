#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/reshard/scheduling_problem.h"
#include "engine/reshard/sharding.h"
#include "p2/limits.h"

namespace p2 {

// The baselines of Zhuang et al., section 3.2. None is optimal in general.

/// Every task is sent by its first host, in the order given.
TaskSchedule naive_schedule(const UnitTasks& tasks);

/// Longest processing time first, each task on its least loaded sender: the greedy of Eq. 4.
TaskSchedule load_balanced_schedule(const UnitTasks& tasks);

/// In rounds: of several random orders, the one that yields the set of pairwise host-disjoint tasks
/// that occupies the most hosts. The tasks of the rounds then start as early as they can.
TaskSchedule greedy_schedule(const UnitTasks& tasks, std::uint64_t seed);

// Upper bounds for branch and bound, in increasing order of effort. `target` is a lower bound: a
// schedule with this makespan is optimal and ends a search.

/// The class that starts its next task and the sender of that task, in the order of starts.
using StartSequence = std::vector<std::pair<std::size_t, std::size_t>>;

/// The schedule in which tasks start in this order, as early as they can; of identical tasks the
/// first ones first.
TaskSchedule to_schedule(const UnitTasks& tasks, const SchedulingProblem& problem,
                         const StartSequence& sequence);

/// List scheduling (Graham, 1969) with the priority "most work remaining" and random restarts: the
/// task that can start first starts next; ties go to the largest remaining work on its most loaded
/// host, scaled by random weights after the first attempt.
TaskSchedule list_schedule(const UnitTasks& tasks, const SchedulingProblem& problem,
                           std::int64_t target, std::uint64_t seed);

/// Beam search (Ow and Morton, "Filtered beam search in scheduling", 1988) for a schedule shorter
/// than `upper_bound`, in the order of starts, with growing beam widths. Empty where none is found
/// within the limits and a number of expansions that grows with the number of tasks.
StartSequence beam_search(const SchedulingProblem& problem, std::int64_t upper_bound,
                          std::int64_t target, const Limits& limits);

/// Shortens `first` by large neighbourhood search (ruin and recreate: Schrimpf et al., 2000) under
/// simulated annealing (Kirkpatrick et al., 1983). Every change removes a task, mostly one on a
/// path longer than `target`, and some that start at about the same time, and reinserts each where
/// the longest path through it is shortest. The cost of a schedule is the sum over tasks of the
/// excess of the longest path through the task over `target`.
///
/// One short and up to three long annealing rounds, of a number of changes that depends on the
/// number of tasks; with a deadline and more classes than branch and bound can handle, rounds of
/// doubling length until the deadline. Deterministic unless a limit is reached. Never longer than
/// `first`.
TaskSchedule insertion_search(const UnitTasks& tasks, const SchedulingProblem& problem,
                              const TaskSchedule& first, std::int64_t target, std::uint64_t seed,
                              const Limits& limits);

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
