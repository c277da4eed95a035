#include "engine/reshard/strategies.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>

namespace p2 {
namespace {

constexpr std::size_t kOrdersPerRound = 32;
constexpr std::size_t kMostWork = std::size_t{1} << 22;  // beyond it, fewer orders per round

using Loads = std::map<std::uint32_t, std::int64_t>;

std::vector<std::size_t> all_of(const UnitTasks& tasks) {
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

/// Tasks that share no host, each with its sender.
struct Round {
  std::vector<std::pair<std::size_t, std::uint32_t>> sent;
  std::size_t hosts = 0;
};

/// Takes tasks in this order while they share no host with those taken.
Round take_in_order(const UnitTasks& tasks, const std::vector<std::size_t>& order,
                    const Loads& loads) {
  Round round;
  std::set<std::uint32_t> sending;
  std::set<std::uint32_t> receiving;
  for (const std::size_t i : order) {
    const UnitTask& task = tasks[i];
    const auto busy = [&](std::uint32_t host) { return receiving.count(host) != 0; };
    if (std::any_of(task.receiver_hosts.begin(), task.receiver_hosts.end(), busy)) continue;
    std::optional<std::uint32_t> sender;
    for (const std::uint32_t host : task.sender_hosts) {
      if (sending.count(host) == 0 && (!sender || loads.at(host) < loads.at(*sender))) {
        sender = host;
      }
    }
    if (!sender) continue;
    sending.insert(*sender);
    receiving.insert(task.receiver_hosts.begin(), task.receiver_hosts.end());
    round.sent.emplace_back(i, *sender);
  }
  round.hosts = sending.size() + receiving.size();
  return round;
}

/// The same on every platform, unlike std::shuffle.
void shuffle(std::vector<std::size_t>& order, std::mt19937_64& random) {
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
}

}  // namespace

TaskSchedule naive_schedule(const UnitTasks& tasks) {
  std::vector<std::uint32_t> senders;
  for (const UnitTask& task : tasks) senders.push_back(task.sender_hosts.front());
  return schedule_in_order(tasks, all_of(tasks), senders);
}

TaskSchedule load_balanced_schedule(const UnitTasks& tasks) {
  std::vector<std::size_t> order = all_of(tasks);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return tasks[a].size > tasks[b].size; });
  Loads loads;
  std::vector<std::uint32_t> senders(tasks.size());
  for (const std::size_t i : order) {
    const auto& hosts = tasks[i].sender_hosts;
    senders[i] =
        *std::min_element(hosts.begin(), hosts.end(),
                          [&](std::uint32_t a, std::uint32_t b) { return loads[a] < loads[b]; });
    loads[senders[i]] += tasks[i].size;
  }
  return schedule_in_order(tasks, order, senders);
}

TaskSchedule greedy_schedule(const UnitTasks& tasks, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::size_t tries =
      std::clamp<std::size_t>(kMostWork / (tasks.size() * tasks.size()), 1, kOrdersPerRound);
  Loads loads;
  for (const UnitTask& task : tasks) {
    for (const std::uint32_t host : task.sender_hosts) loads[host] = 0;
  }
  std::vector<std::size_t> left = all_of(tasks);
  std::vector<std::size_t> order;
  std::vector<std::uint32_t> senders(tasks.size());
  while (!left.empty()) {
    Round best;
    for (std::size_t i = 0; i < tries; ++i) {
      shuffle(left, random);
      Round round = take_in_order(tasks, left, loads);
      if (round.hosts > best.hosts) best = std::move(round);
    }
    for (const auto& [task, sender] : best.sent) {
      order.push_back(task);
      senders[task] = sender;
      loads[sender] += tasks[task].size;
      left.erase(std::find(left.begin(), left.end(), task));
    }
  }
  return schedule_in_order(tasks, order, senders);
}

}  // namespace p2
