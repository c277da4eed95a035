#pragma once

#include <random>
#include <span>

#include "engine/reshard/scheduling_problem.h"
#include "engine/reshard/task_schedule.h"

namespace p2 {

/// The hosts that keep tasks apart, in one numbering: senders, then the receivers of a
/// SchedulingProblem.
struct TaskHosts {
  struct Task {
    std::int64_t size = 1;
    std::span<const std::uint32_t> senders;
    std::span<const std::uint32_t> receivers;
  };

  TaskHosts(const TaskHosts&) = delete;
  TaskHosts& operator=(const TaskHosts&) = delete;
  TaskHosts(const UnitTasks& unit_tasks, const SchedulingProblem& problem);

  /// Whether the tasks share a receiver.
  bool meet(std::size_t a, std::size_t b) const { return meet_[a * tasks.size() + b] != 0; }

  std::vector<Task> tasks;
  std::size_t hosts = 0;

 private:
  std::vector<char> meet_;
  std::vector<std::uint32_t> numbers_;  // what the tasks look at
};

/// A schedule as an order of tasks, each of which starts when its sender and its receivers are done
/// with those before it. Of every task it knows the head, the time until it can start, and the
/// tail, the time that what must wait for it takes after its end.
class TaskOrder {
 public:
  /// `hosts` must outlive it. The order and the senders of `schedule`.
  TaskOrder(const TaskHosts& hosts, const SchedulingProblem& problem, const TaskSchedule& schedule);

  std::int64_t makespan() const { return makespan_; }
  /// The longest chain of tasks that wait for each other with this one among them.
  std::int64_t chain(std::size_t task) const {
    return head_[task] + hosts_->tasks[task].size + tail_[task];
  }
  /// By how much the chains of all tasks are longer than `enough`, together. Inexact when huge.
  double excess(std::int64_t enough) const;

  /// As they start.
  const std::vector<std::uint32_t>& order() const { return order_; }

  void take_out(const std::vector<std::uint32_t>& tasks);
  /// Puts a task in where, and on the sender with which, the chain through it is the shortest.
  /// Every such length counts as more by chance, `noise` on average (exponential).
  void put_in(std::uint32_t task, double noise, std::mt19937_64& random);
  /// Closes the gaps of what was taken out, and makes room for what was put in. Until then the
  /// makespan and the chains are those of before.
  void settle();

  TaskSchedule schedule(const UnitTasks& tasks, const SchedulingProblem& problem) const;

 private:
  struct Place {
    std::size_t at = 0;
    std::uint32_t sender = 0;
  };

  /// What the task at a place of the order is to one that is put in.
  struct Neighbour {
    std::int64_t next_on_sender = 0;  // size and tail of what follows it on its sender
    std::int64_t receivers_left = 0;  // the most size and tail of it and those behind that meet
    bool meets = false;               // at a receiver
    bool matters = false;             // meets, or could
  };

  void find_heads();
  void find_tails();
  void sort_by_tails();
  /// By place, and for the end. `after`: by sender the size and tail of the first on it.
  std::vector<Neighbour> neighbours(std::uint32_t task, std::vector<std::int64_t>& after) const;
  Place best_place(std::uint32_t task, double noise, std::mt19937_64& random) const;

  const TaskHosts* hosts_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> sender_;  // by task
  std::vector<std::int64_t> head_;     // by task
  std::vector<std::int64_t> tail_;     // by task
  std::vector<std::int64_t> free_;     // by host, for find_heads() and find_tails()
  std::int64_t makespan_ = 0;
};

/// From 0 on, 1 on average: exponential.
double chance(std::mt19937_64& random);

}  // namespace p2
