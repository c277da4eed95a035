#pragma once

#include <vector>

#include "engine/reshard/scheduling_problem.h"

namespace p2 {

/// A schedule that is built in the order in which tasks start, as a search sees it.
struct PartialSchedule {
  explicit PartialSchedule(const SchedulingProblem& problem);

  std::vector<std::size_t> left;           ///< tasks not started yet, by class
  std::vector<std::int64_t> send_free;     ///< by sender
  std::vector<std::int64_t> receive_free;  ///< by receiver
  std::int64_t now = 0;                    ///< the latest start; what is left starts no earlier
  std::int64_t end = 0;                    ///< the latest end
  std::size_t tasks_left = 0;

  /// When a task of the class could start if `sender` sent it.
  std::int64_t earliest_start(const TaskClass& each, std::size_t sender) const;
  /// Starts a task of class `number` then. All that is left starts no earlier: which loses nothing
  /// if every task that could go next is tried.
  void start(const SchedulingProblem& problem, std::size_t number, std::size_t sender);
};

/// A number that no makespan is below, and why.
struct LowerBound {
  enum class Reason { End, Receiver, Senders, Clique };

  std::int64_t value = 0;
  Reason reason = Reason::End;
  std::size_t index = 0;  ///< of the receiver, pool or clique in the problem
};

/// The largest of: the work left for each receiver; that for each pool of senders, divided evenly;
/// that of each clique.
LowerBound lower_bound(const PartialSchedule& state, const SchedulingProblem& problem);

}  // namespace p2
