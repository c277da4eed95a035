#include "engine/reshard/task_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/json_document.h"

namespace p2 {
namespace {

std::vector<std::uint32_t> read_hosts(const JsonValue& task, std::string_view key) {
  const JsonValue list = task.member(key, "a task");
  std::vector<std::uint32_t> hosts;
  for (const JsonValue& host : list.array("the hosts of a task")) {
    hosts.push_back(static_cast<std::uint32_t>(host.integer("a host", 0, kMostHosts - 1)));
    if (std::count(hosts.begin(), hosts.end(), hosts.back()) > 1) {
      host.fail(fmt::format("host {} stands twice, expected each host once", hosts.back()));
    }
  }
  if (hosts.empty()) list.fail("no host, expected at least one");
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

}  // namespace

UnitTasks read_tasks(const std::string& source, const std::string& text) {
  const JsonDocument document(source, text);
  const JsonValue root = document.root();
  root.only_keys({"tasks"}, "a set of tasks");
  const JsonValue list = root.member("tasks", "a set of tasks");
  UnitTasks tasks;
  for (const JsonValue& task : list.array("the tasks")) {
    task.only_keys({"size", "sender_hosts", "receiver_hosts"}, "a task");
    if (tasks.size() == kMostTasks) task.fail(fmt::format("expected at most {} tasks", kMostTasks));
    tasks.push_back({task.member("size", "a task").integer("the size of a task", 1, kLargestTask),
                     read_hosts(task, "sender_hosts"), read_hosts(task, "receiver_hosts")});
  }
  if (tasks.empty()) list.fail("no task, expected at least one");
  return tasks;
}

}  // namespace p2
