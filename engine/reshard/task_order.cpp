#include "engine/reshard/task_order.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace p2 {

TaskHosts::TaskHosts(const UnitTasks& unit_tasks, const SchedulingProblem& problem)
    : tasks(unit_tasks.size()), hosts(problem.sender_hosts.size() + problem.receiver_hosts.size()) {
  for (const TaskClass& each : problem.classes) {
    for (const std::size_t host : each.senders) {
      numbers_.push_back(static_cast<std::uint32_t>(host));
    }
    for (const std::size_t host : each.receivers) {
      numbers_.push_back(static_cast<std::uint32_t>(problem.sender_hosts.size() + host));
    }
  }
  auto rest = std::span<const std::uint32_t>(numbers_);
  const auto next = [&](std::size_t count) {
    const auto some = rest.first(count);
    rest = rest.subspan(count);
    return some;
  };
  for (const TaskClass& each : problem.classes) {
    const auto senders = next(each.senders.size());
    const Task made{each.size, senders, next(each.receivers.size())};
    for (const std::size_t task : each.tasks) tasks[task] = made;
  }
  for (const Task& a : tasks) {
    for (const Task& b : tasks) {
      const auto host = std::find_first_of(a.receivers.begin(), a.receivers.end(),
                                           b.receivers.begin(), b.receivers.end());
      meet_.push_back(host != a.receivers.end() ? 1 : 0);
    }
  }
}

TaskOrder::TaskOrder(const TaskHosts& hosts, const SchedulingProblem& problem,
                     const TaskSchedule& schedule)
    : hosts_(&hosts),
      sender_(hosts.tasks.size()),
      head_(hosts.tasks.size()),
      tail_(hosts.tasks.size()) {
  for (const TaskRun& run : schedule.runs) {
    order_.push_back(static_cast<std::uint32_t>(run.task));
    const auto& all = problem.sender_hosts;
    sender_[run.task] = static_cast<std::uint32_t>(
        std::lower_bound(all.begin(), all.end(), run.sender) - all.begin());
  }
  find_heads();
  find_tails();
}

double TaskOrder::excess(std::int64_t enough) const {
  double sum = 0;
  for (const std::uint32_t task : order_) {
    sum += static_cast<double>(std::max<std::int64_t>(0, chain(task) - enough));
  }
  return sum;
}

void TaskOrder::find_heads() {
  free_.assign(hosts_->hosts, 0);
  makespan_ = 0;
  for (const std::uint32_t i : order_) {
    const TaskHosts::Task& task = hosts_->tasks[i];
    std::int64_t start = free_[sender_[i]];
    for (const std::uint32_t host : task.receivers) start = std::max(start, free_[host]);
    head_[i] = start;
    const std::int64_t end = start + task.size;
    free_[sender_[i]] = end;
    for (const std::uint32_t host : task.receivers) free_[host] = end;
    makespan_ = std::max(makespan_, end);
  }
}

void TaskOrder::find_tails() {
  free_.assign(hosts_->hosts, 0);
  for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
    const TaskHosts::Task& task = hosts_->tasks[*at];
    std::int64_t tail = free_[sender_[*at]];
    for (const std::uint32_t host : task.receivers) tail = std::max(tail, free_[host]);
    tail_[*at] = tail;
    free_[sender_[*at]] = tail + task.size;
    for (const std::uint32_t host : task.receivers) free_[host] = tail + task.size;
  }
}

/// Heads and tails stay as they are: of tasks that meet at a host the first has the longer tail.
/// Mostly they are nearly sorted.
void TaskOrder::sort_by_tails() {
  const auto left = [&](std::size_t task) { return tail_[task] + hosts_->tasks[task].size; };
  for (std::size_t i = 1; i < order_.size(); ++i) {
    const std::uint32_t task = order_[i];
    std::size_t at = i;
    for (; at > 0 && left(order_[at - 1]) < left(task); --at) order_[at] = order_[at - 1];
    order_[at] = task;
  }
}

std::vector<TaskOrder::Neighbour> TaskOrder::neighbours(std::uint32_t task,
                                                        std::vector<std::int64_t>& after) const {
  std::vector<Neighbour> all(order_.size() + 1);
  std::vector<char> could_send(hosts_->hosts);
  for (const std::uint32_t host : hosts_->tasks[task].senders) could_send[host] = 1;
  after.assign(hosts_->hosts, 0);
  for (std::size_t i = order_.size(); i-- > 0;) {
    const std::uint32_t other = order_[i];
    const std::int64_t left = tail_[other] + hosts_->tasks[other].size;
    const bool meets = hosts_->meet(task, other);
    std::int64_t& next = after[sender_[other]];
    all[i] = {next, meets ? left : all[i + 1].receivers_left, meets,
              meets || could_send[sender_[other]] != 0};
    next = left;
  }
  return all;
}

TaskOrder::Place TaskOrder::best_place(std::uint32_t task, double noise,
                                       std::mt19937_64& random) const {
  std::vector<std::int64_t> after;
  const std::vector<Neighbour> all = neighbours(task, after);
  std::vector<std::int64_t> before(hosts_->hosts);  // by sender: the end of the last on it
  std::int64_t received = 0;                        // the end of the last that meets
  double least = std::numeric_limits<double>::max();
  Place best;
  const auto consider = [&](std::size_t at, std::uint32_t sender) {
    const std::int64_t head = std::max(received, before[sender]);
    auto chain = static_cast<double>(head + std::max(all[at].receivers_left, after[sender]));
    if (chain >= least) return;
    chain += noise * chance(random);
    if (chain >= least) return;
    least = chain;
    best = {at, sender};
  };
  for (std::size_t at = 0;; ++at) {
    if (at == 0 || all[at - 1].matters) {
      for (const std::uint32_t sender : hosts_->tasks[task].senders) consider(at, sender);
    }
    if (at == order_.size()) return best;
    const std::size_t passed = order_[at];
    const std::int64_t end = head_[passed] + hosts_->tasks[passed].size;
    if (all[at].meets) received = std::max(received, end);
    before[sender_[passed]] = end;
    after[sender_[passed]] = all[at].next_on_sender;
  }
}

void TaskOrder::take_out(const std::vector<std::uint32_t>& tasks) {
  std::erase_if(order_, [&](std::uint32_t task) {
    return std::find(tasks.begin(), tasks.end(), task) != tasks.end();
  });
}

void TaskOrder::put_in(std::uint32_t task, double noise, std::mt19937_64& random) {
  sort_by_tails();
  const Place place = best_place(task, noise, random);
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(place.at), task);
  sender_[task] = place.sender;
}

void TaskOrder::settle() {
  find_heads();
  find_tails();
}

TaskSchedule TaskOrder::schedule(const UnitTasks& tasks, const SchedulingProblem& problem) const {
  std::vector<std::uint32_t> senders;
  for (const std::uint32_t sender : sender_) senders.push_back(problem.sender_hosts[sender]);
  return schedule_in_order(tasks, {order_.begin(), order_.end()}, senders);
}

double chance(std::mt19937_64& random) {
  constexpr double kStep = 1.0 / (std::uint64_t{1} << 53U);
  return -std::log((static_cast<double>(random() >> 11U) + 1) * kStep);
}

}  // namespace p2
