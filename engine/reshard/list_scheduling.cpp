#include "engine/reshard/list_scheduling.h"

#include <algorithm>
#include <random>
#include <tuple>

#include "engine/reshard/partial_schedule.h"

namespace p2 {
namespace {

constexpr std::size_t kMostAttempts = 256;
constexpr std::size_t kMostWork = 50'000'000;  // of all attempts after the first
constexpr std::uint64_t kSpread = 1000;        // weights vary from 1 to 2, in thousandths

/// How much work is left for each host; what any of several senders may send counts in parts.
struct Pressure {
  std::vector<std::int64_t> senders;
  std::vector<std::int64_t> receivers;

  Pressure(const SchedulingProblem& problem, const PartialSchedule& state)
      : senders(problem.sender_hosts.size()), receivers(problem.receiver_hosts.size()) {
    for (std::size_t i = 0; i < problem.classes.size(); ++i) {
      const TaskClass& each = problem.classes[i];
      const std::int64_t work = each.size * static_cast<std::int64_t>(state.left[i]);
      const auto part = work / static_cast<std::int64_t>(each.senders.size());
      for (const std::size_t sender : each.senders) senders[sender] += part;
      for (const std::size_t receiver : each.receivers) receivers[receiver] += work;
    }
  }

  std::int64_t behind(const TaskClass& each) const {
    std::int64_t most = each.senders.size() == 1 ? senders[each.senders.front()] : 0;
    for (const std::size_t receiver : each.receivers) most = std::max(most, receivers[receiver]);
    return most;
  }
};

/// `weights` scale the work behind each class.
StartSequence one_attempt(const SchedulingProblem& problem, const std::vector<double>& weights) {
  PartialSchedule state(problem);
  StartSequence sequence;
  while (state.tasks_left > 0) {
    const Pressure pressure(problem, state);
    // The earliest start, then the most work behind, then the sender with the least to do.
    using Key = std::tuple<std::int64_t, double, std::int64_t>;
    Key best;
    std::pair<std::size_t, std::size_t> choice;
    bool found = false;
    for (std::size_t i = 0; i < problem.classes.size(); ++i) {
      if (state.left[i] == 0) continue;
      const TaskClass& each = problem.classes[i];
      const double behind = weights[i] * static_cast<double>(pressure.behind(each));
      for (const std::size_t sender : each.senders) {
        const Key key{state.earliest_start(each, sender), -behind, pressure.senders[sender]};
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
  return std::clamp<std::size_t>(kMostWork / (tasks.size() * per_step), 1, kMostAttempts);
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
                           std::int64_t enough, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> weights(problem.classes.size(), 1);
  TaskSchedule best = to_schedule(tasks, problem, one_attempt(problem, weights));
  const std::size_t most = attempts(tasks, problem);
  for (std::size_t i = 1; i < most && best.makespan > enough; ++i) {
    for (double& weight : weights) {
      weight = 1 + static_cast<double>(random() % kSpread) / static_cast<double>(kSpread);
    }
    TaskSchedule next = to_schedule(tasks, problem, one_attempt(problem, weights));
    if (next.makespan < best.makespan) best = std::move(next);
  }
  return best;
}

}  // namespace p2
