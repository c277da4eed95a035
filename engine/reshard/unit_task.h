#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p2/reshard.h"

namespace p2 {

/// Limits under which no sum of times overflows.
constexpr std::int64_t kMaxTaskSize = 1'000'000'000'000;
constexpr std::size_t kMaxTasks = 4096;
constexpr std::uint32_t kMaxMeshHosts = 1024;

/// Reads `{"tasks":[{"size":1,"sender_hosts":[1,2],"receiver_hosts":[0]}]}`; hosts in any order.
/// Throws InputError at the position of anything else and of values beyond the limits above.
UnitTasks read_tasks(const std::string& source, const std::string& text);

/// Two tasks that share a receiver cannot run at the same time.
bool share_receiver(const UnitTask& a, const UnitTask& b);

/// The semi-active schedule of an order of tasks: each starts as soon as its sender and its
/// receivers are free. `senders` is indexed by task.
TaskSchedule schedule_in_order(const UnitTasks& tasks, const std::vector<std::size_t>& order,
                               const std::vector<std::uint32_t>& senders);

/// The first violation of Eq. 1–3 of the paper: a task that does not run exactly once, a sender
/// that does not hold the slice, two tasks that overlap on a host, or a makespan that is not the
/// last end. Empty if the schedule is feasible.
std::optional<std::string> find_violation(const TaskSchedule& schedule, const UnitTasks& tasks);

}  // namespace p2
