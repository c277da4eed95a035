#pragma once

#include <vector>

#include "engine/reshard/sharding.h"

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

}  // namespace p2
