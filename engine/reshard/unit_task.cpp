#include "engine/reshard/unit_task.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "engine/base/file_kind.h"
#include "engine/base/json_reader.h"

namespace p2 {

bool share_receiver(const UnitTask& a, const UnitTask& b) {
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

std::optional<std::string> find_violation(const TaskSchedule& schedule, const UnitTasks& tasks) {
  std::vector<bool> seen(tasks.size());
  std::int64_t last = 0;
  for (std::size_t i = 0; i < schedule.runs.size(); ++i) {
    const TaskRun& run = schedule.runs[i];
    if (run.task >= tasks.size() || seen[run.task])
      return fmt::format("duplicate task {}", run.task);
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
      if (other.sender == run.sender || share_receiver(task, tasks[other.task])) {
        return fmt::format("tasks {} and {} overlap", other.task, run.task);
      }
    }
  }
  if (schedule.runs.size() != tasks.size()) return "a task does not run";
  if (schedule.makespan != last) return "the makespan is not the last end";
  return std::nullopt;
}

namespace {

std::vector<std::uint32_t> read_hosts(const JsonValue& task, std::string_view key) {
  const JsonValue list = task.member(key, "a task");
  std::vector<std::uint32_t> hosts;
  for (const JsonValue& host : list.array("the hosts of a task")) {
    hosts.push_back(static_cast<std::uint32_t>(host.integer("a host", 0, kMaxMeshHosts - 1)));
    if (std::count(hosts.begin(), hosts.end(), hosts.back()) > 1) {
      host.fail(fmt::format("duplicate host {}, expected each host once", hosts.back()));
    }
  }
  if (hosts.empty()) list.fail("no host, expected at least one");
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

}  // namespace

namespace {

UnitTasks read_task_list(const std::string& source, const std::string& text) {
  const JsonDocument document(source, text);
  const JsonValue root = document.root();
  root.only_keys({"tasks"}, "a set of tasks");
  const JsonValue list = root.member("tasks", "a set of tasks");
  UnitTasks tasks;
  for (const JsonValue& task : list.array("the tasks")) {
    task.only_keys({"size", "sender_hosts", "receiver_hosts"}, "a task");
    if (tasks.size() == kMaxTasks) task.fail(fmt::format("expected at most {} tasks", kMaxTasks));
    tasks.push_back({task.member("size", "a task").integer("the size of a task", 1, kMaxTaskSize),
                     read_hosts(task, "sender_hosts"), read_hosts(task, "receiver_hosts")});
  }
  if (tasks.empty()) list.fail("no task, expected at least one");
  return tasks;
}

}  // namespace

UnitTasks read_tasks(const std::string& source, const std::string& text) {
  return read_as({FileKind::Tasks}, source, text, [&] { return read_task_list(source, text); });
}

}  // namespace p2
