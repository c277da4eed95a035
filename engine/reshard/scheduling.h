#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/reshard/sharding.h"
#include "p2/limits.h"

namespace p2 {

/// Identical tasks: they can be exchanged in a schedule.
struct TaskClass {
  std::int64_t size = 1;
  std::vector<std::size_t> senders;    ///< indices in SchedulingProblem::sender_hosts
  std::vector<std::size_t> receivers;  ///< indices in SchedulingProblem::receiver_hosts
  std::vector<std::size_t> tasks;      ///< indices in the UnitTasks, ascending
};

/// A set of senders and the classes that only these can send.
struct SenderPool {
  std::vector<std::size_t> senders;
  std::vector<std::size_t> classes;  ///< by descending size
};

/// Unit tasks prepared for search: scheduling with unrelated dedicated machines (receivers) and one
/// machine out of several (senders) per task. Identical tasks are merged, and what lower bounds
/// need is computed once.
struct SchedulingProblem {
  explicit SchedulingProblem(const UnitTasks& tasks);

  std::vector<std::uint32_t> sender_hosts;
  /// Receivers that are not dominated: where every task of a host also goes to another host, the
  /// first constrains nothing and is left out.
  std::vector<std::uint32_t> receiver_hosts;
  std::vector<TaskClass> classes;
  std::vector<SenderPool> pools;
  /// Cliques of the conflict graph: sets of classes of which no two tasks can ever overlap in time.
  std::vector<std::vector<std::size_t>> cliques;
  /// By sender: the first sender that can send the same classes. Senders with the same
  /// representative are interchangeable.
  std::vector<std::size_t> representative;
};

/// A schedule under construction, in the order of starts.
struct PartialSchedule {
  explicit PartialSchedule(const SchedulingProblem& problem);

  std::vector<std::size_t> remaining;      ///< tasks not started, by class
  std::vector<std::int64_t> send_free;     ///< by sender: when it becomes free
  std::vector<std::int64_t> receive_free;  ///< by receiver
  std::int64_t now = 0;                    ///< the latest start; no remaining task starts earlier
  std::int64_t end = 0;                    ///< the latest end
  std::size_t remaining_tasks = 0;

  /// The earliest start of a task of the class on `sender`.
  std::int64_t earliest_start(const TaskClass& each, std::size_t sender) const;
  /// Starts a task of class `number` at its earliest start, which becomes `now`. Restricting the
  /// remaining tasks to later starts loses no schedule if every possible next task is branched on.
  void start(const SchedulingProblem& problem, std::size_t number, std::size_t sender);
};

/// A lower bound on the makespan and the argument for it.
struct LowerBound {
  enum class Reason {
    End,       ///< the schedule already lasts that long
    Receiver,  ///< the work of one receiver
    Senders,   ///< the work of a pool of senders
    Clique     ///< the work of a clique of the conflict graph
  };

  std::int64_t value = 0;
  Reason reason = Reason::End;
  std::size_t index = 0;  ///< of the receiver, pool or clique in the problem
};

/// The largest of three machine-based bounds over the remaining tasks: the load of each receiver;
/// for each pool of n senders the mean load and the pigeonhole bound of parallel machines
/// (Dell'Amico and Martello, "Optimal scheduling of tasks on identical parallel processors", 1995);
/// the load of each clique.
LowerBound lower_bound(const PartialSchedule& state, const SchedulingProblem& problem);

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
