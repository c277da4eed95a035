#include "engine/reshard/task_schedule.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace p2 {

bool share_a_receiver(const UnitTask& a, const UnitTask& b) {
  return std::any_of(a.receiver_hosts.begin(), a.receiver_hosts.end(), [&](std::uint32_t host) {
    return std::binary_search(b.receiver_hosts.begin(), b.receiver_hosts.end(), host);
  });
}

TaskSchedule schedule_in_order(const UnitTasks& tasks, const std::vector<std::size_t>& order,
                               const std::vector<std::uint32_t>& senders) {
  std::map<std::uint32_t, std::int64_t> send_free;
  std::map<std::uint32_t, std::int64_t> receive_free;
  TaskSchedule schedule;
  for (const std::size_t task : order) {
    const UnitTask& each = tasks[task];
    std::int64_t start = send_free[senders[task]];
    for (const std::uint32_t host : each.receiver_hosts)
      start = std::max(start, receive_free[host]);
    const std::int64_t end = start + each.size;
    send_free[senders[task]] = end;
    for (const std::uint32_t host : each.receiver_hosts) receive_free[host] = end;
    schedule.runs.push_back({task, senders[task], start});
    schedule.makespan = std::max(schedule.makespan, end);
  }
  std::sort(schedule.runs.begin(), schedule.runs.end(), [](const TaskRun& a, const TaskRun& b) {
    return std::tie(a.start, a.task) < std::tie(b.start, b.task);
  });
  return schedule;
}

std::optional<std::string> mistake_in(const TaskSchedule& schedule, const UnitTasks& tasks) {
  std::vector<bool> seen(tasks.size());
  std::int64_t last = 0;
  for (std::size_t i = 0; i < schedule.runs.size(); ++i) {
    const TaskRun& run = schedule.runs[i];
    if (run.task >= tasks.size() || seen[run.task]) return fmt::format("task {} again", run.task);
    seen[run.task] = true;
    const UnitTask& task = tasks[run.task];
    if (!std::binary_search(task.sender_hosts.begin(), task.sender_hosts.end(), run.sender)) {
      return fmt::format("host {} does not hold task {}", run.sender, run.task);
    }
    const std::int64_t end = run.start + task.size;
    if (run.start < 0) return fmt::format("task {} starts before time 0", run.task);
    last = std::max(last, end);
    for (std::size_t j = 0; j < i; ++j) {
      const TaskRun& other = schedule.runs[j];
      const bool apart = other.start + tasks[other.task].size <= run.start || end <= other.start;
      if (apart) continue;
      if (other.sender == run.sender || share_a_receiver(task, tasks[other.task])) {
        return fmt::format("tasks {} and {} overlap", other.task, run.task);
      }
    }
  }
  if (schedule.runs.size() != tasks.size()) return "a task does not run";
  if (schedule.makespan != last) return "the makespan is not the last end";
  return std::nullopt;
}

}  // namespace p2
