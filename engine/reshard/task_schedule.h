#pragma once

#include <optional>
#include <string>

#include "engine/reshard/unit_task.h"

namespace p2 {

/// Which of its senders a task takes and when it starts; it ends `size` later.
struct TaskRun {
  std::size_t task = 0;
  std::uint32_t sender = 0;
  std::int64_t start = 0;

  bool operator==(const TaskRun&) const = default;
};

/// By start, then by task.
struct TaskSchedule {
  std::vector<TaskRun> runs;
  std::int64_t makespan = 0;
};

/// Two such tasks cannot run at the same time.
bool share_a_receiver(const UnitTask& a, const UnitTask& b);

/// Starts tasks as early as their sender and receivers allow, one after another in the order of
/// `order`; `senders[task]` is the sender of each. Gives the runs in the order of a TaskSchedule.
TaskSchedule schedule_in_order(const UnitTasks& tasks, const std::vector<std::size_t>& order,
                               const std::vector<std::uint32_t>& senders);

/// What is wrong with a schedule by Eq. 1–3 of the paper: a task that does not run exactly once, is
/// sent by a host that does not hold it, overlaps another that shares its sender or a receiver, or
/// a makespan that is not the last end. Nothing where it is right.
std::optional<std::string> mistake_in(const TaskSchedule& schedule, const UnitTasks& tasks);

}  // namespace p2
