#pragma once

#include "engine/reshard/unit_task.h"

namespace p2 {

/// Tasks that are equal, hence interchangeable in a schedule.
struct TaskClass {
  std::int64_t size = 1;
  std::vector<std::size_t> senders;    ///< indices in SchedulingProblem::sender_hosts
  std::vector<std::size_t> receivers;  ///< indices in SchedulingProblem::receiver_hosts
  std::vector<std::size_t> tasks;      ///< indices in the UnitTasks, ascending
};

/// Classes that must share the senders of `senders`, which are all that any of them has.
struct SenderPool {
  std::vector<std::size_t> senders;
  std::vector<std::size_t> classes;
};

/// The tasks as a search needs them: equal ones together, and what holds of them whatever the
/// schedule.
struct SchedulingProblem {
  explicit SchedulingProblem(const UnitTasks& tasks);

  std::vector<std::uint32_t> sender_hosts;
  /// Only hosts that can keep two tasks apart which no other receiver keeps apart: where all tasks
  /// of one host go to another as well, the first is left out.
  std::vector<std::uint32_t> receiver_hosts;
  std::vector<TaskClass> classes;
  std::vector<SenderPool> pools;
  /// Sets of classes of which no two tasks can ever run at once.
  std::vector<std::vector<std::size_t>> cliques;
  /// By sender: the first sender that the same classes can take. Two with the same are
  /// interchangeable.
  std::vector<std::size_t> like;
};

}  // namespace p2
