#include "tests/reshard/instances.h"

#include <algorithm>
#include <numeric>

namespace p2 {
namespace {

/// The next choice of senders, as one counts; false after the last.
bool next_choice(const UnitTasks& tasks, std::vector<std::size_t>& choice) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (++choice[i] < tasks[i].sender_hosts.size()) return true;
    choice[i] = 0;
  }
  return false;
}

std::vector<std::uint32_t> random_hosts(std::mt19937_64& random, std::uint32_t hosts) {
  std::vector<std::uint32_t> chosen;
  while (chosen.empty()) {
    for (std::uint32_t host = 0; host < hosts; ++host) {
      if (random() % 5 < 2) chosen.push_back(host);
    }
  }
  return chosen;
}

}  // namespace

ExactSchedule solve(const UnitTasks& tasks, const Limits& limits) {
  ScheduleSearchProgress progress;
  return exact_schedule(tasks, SchedulingProblem(tasks), 1, limits, progress);
}

std::int64_t brute_force(const UnitTasks& tasks) {
  std::int64_t best = INT64_MAX;
  std::vector<std::size_t> choice(tasks.size());
  do {
    std::vector<std::uint32_t> senders;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      senders.push_back(tasks[i].sender_hosts[choice[i]]);
    }
    std::vector<std::size_t> order(tasks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      best = std::min(best, schedule_in_order(tasks, order, senders).makespan);
    } while (std::next_permutation(order.begin(), order.end()));
  } while (next_choice(tasks, choice));
  return best;
}

UnitTasks random_tasks(std::mt19937_64& random, std::size_t most) {
  const auto hosts = static_cast<std::uint32_t>(2 + random() % 3);
  const std::uint64_t longest = 1 + random() % 6;
  UnitTasks tasks;
  for (std::size_t count = 2 + random() % (most - 1); count > 0; --count) {
    const auto size = static_cast<std::int64_t>(1 + random() % longest);
    auto senders = random_hosts(random, hosts);
    tasks.push_back({size, std::move(senders), random_hosts(random, hosts)});
  }
  return tasks;
}

}  // namespace p2
