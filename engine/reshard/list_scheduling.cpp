#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include "engine/reshard/scheduling.h"

namespace p2 {
namespace {

constexpr std::size_t kOrdersPerRound = 32;
constexpr std::size_t kMaxRoundWork = std::size_t{1} << 22;  // beyond it, fewer orders per round

using Loads = std::map<std::uint32_t, std::int64_t>;

std::vector<std::size_t> identity_order(const UnitTasks& tasks) {
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

/// Pairwise host-disjoint tasks, each with its sender.
struct Round {
  std::vector<std::pair<std::size_t, std::uint32_t>> sent;
  std::size_t hosts = 0;
};

/// Greedily adds tasks in this order that share no host with those added.
Round select_round(const UnitTasks& tasks, const std::vector<std::size_t>& order,
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
  return schedule_in_order(tasks, identity_order(tasks), senders);
}

TaskSchedule load_balanced_schedule(const UnitTasks& tasks) {
  std::vector<std::size_t> order = identity_order(tasks);
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
      std::clamp<std::size_t>(kMaxRoundWork / (tasks.size() * tasks.size()), 1, kOrdersPerRound);
  Loads loads;
  for (const UnitTask& task : tasks) {
    for (const std::uint32_t host : task.sender_hosts) loads[host] = 0;
  }
  std::vector<std::size_t> remaining = identity_order(tasks);
  std::vector<std::size_t> order;
  std::vector<std::uint32_t> senders(tasks.size());
  while (!remaining.empty()) {
    Round best;
    for (std::size_t i = 0; i < tries; ++i) {
      shuffle(remaining, random);
      Round round = select_round(tasks, remaining, loads);
      if (round.hosts > best.hosts) best = std::move(round);
    }
    for (const auto& [task, sender] : best.sent) {
      order.push_back(task);
      senders[task] = sender;
      loads[sender] += tasks[task].size;
      remaining.erase(std::find(remaining.begin(), remaining.end(), task));
    }
  }
  return schedule_in_order(tasks, order, senders);
}

namespace {

constexpr std::size_t kMaxAttempts = 256;
constexpr std::size_t kMaxWork = 50'000'000;  // candidates compared, of all attempts but the first
constexpr std::uint64_t kWeightSteps = 1000;  // weights vary from 1 to 2, in thousandths

/// The work remaining for each host; that of a task with several possible senders is divided evenly
/// among them.
struct RemainingWork {
  std::vector<std::int64_t> senders;
  std::vector<std::int64_t> receivers;

  RemainingWork(const SchedulingProblem& problem, const PartialSchedule& state)
      : senders(problem.sender_hosts.size()), receivers(problem.receiver_hosts.size()) {
    for (std::size_t i = 0; i < problem.classes.size(); ++i) {
      const TaskClass& each = problem.classes[i];
      const std::int64_t work = each.size * static_cast<std::int64_t>(state.remaining[i]);
      const auto part = work / static_cast<std::int64_t>(each.senders.size());
      for (const std::size_t sender : each.senders) senders[sender] += part;
      for (const std::size_t receiver : each.receivers) receivers[receiver] += work;
    }
  }

  std::int64_t critical(const TaskClass& each) const {
    std::int64_t work = each.senders.size() == 1 ? senders[each.senders.front()] : 0;
    for (const std::size_t receiver : each.receivers) work = std::max(work, receivers[receiver]);
    return work;
  }
};

/// `weights` scale the priority of each class.
StartSequence run_attempt(const SchedulingProblem& problem, const std::vector<double>& weights) {
  PartialSchedule state(problem);
  StartSequence sequence;
  while (state.remaining_tasks > 0) {
    const RemainingWork work_left(problem, state);
    // The earliest start, then the largest priority, then the least loaded sender.
    using Key = std::tuple<std::int64_t, double, std::int64_t>;
    Key best;
    std::pair<std::size_t, std::size_t> choice;
    bool found = false;
    for (std::size_t i = 0; i < problem.classes.size(); ++i) {
      if (state.remaining[i] == 0) continue;
      const TaskClass& each = problem.classes[i];
      const double critical = weights[i] * static_cast<double>(work_left.critical(each));
      for (const std::size_t sender : each.senders) {
        const Key key{state.earliest_start(each, sender), -critical, work_left.senders[sender]};
        if (found && key >= best) continue;
        found = true;
        best = key;
        choice = {i, sender};
      }
    }
    state.start(problem, choice.first, choice.second);
    sequence.push_back(choice);
  }
  return sequence;
}

std::size_t attempts(const UnitTasks& tasks, const SchedulingProblem& problem) {
  std::size_t per_step = 1;
  for (const TaskClass& each : problem.classes) per_step += each.senders.size();
  return std::clamp<std::size_t>(kMaxWork / (tasks.size() * per_step), 1, kMaxAttempts);
}

}  // namespace

TaskSchedule to_schedule(const UnitTasks& tasks, const SchedulingProblem& problem,
                         const StartSequence& sequence) {
  std::vector<std::size_t> started(problem.classes.size());
  std::vector<std::size_t> order;
  std::vector<std::uint32_t> senders(tasks.size());
  for (const auto& [number, sender] : sequence) {
    order.push_back(problem.classes[number].tasks[started[number]++]);
    senders[order.back()] = problem.sender_hosts[sender];
  }
  return schedule_in_order(tasks, order, senders);
}

TaskSchedule list_schedule(const UnitTasks& tasks, const SchedulingProblem& problem,
                           std::int64_t target, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> weights(problem.classes.size(), 1);
  TaskSchedule best = to_schedule(tasks, problem, run_attempt(problem, weights));
  const std::size_t limit = attempts(tasks, problem);
  for (std::size_t i = 1; i < limit && best.makespan > target; ++i) {
    for (double& weight : weights) {
      weight = 1 + static_cast<double>(random() % kWeightSteps) / static_cast<double>(kWeightSteps);
    }
    TaskSchedule next = to_schedule(tasks, problem, run_attempt(problem, weights));
    if (next.makespan < best.makespan) best = std::move(next);
  }
  return best;
}

}  // namespace p2
