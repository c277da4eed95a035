#include "engine/reshard/insertion_search.h"

#include <algorithm>
#include <random>
#include <tuple>

#include "engine/reshard/busy_times.h"

namespace p2 {
namespace {

constexpr std::size_t kMostPlaced = 8'000'000;  // tasks, by all changes
constexpr std::size_t kChangesPerPair = 10;     // of tasks
constexpr std::size_t kMemory = 100;            // changes that a cost is remembered for
constexpr std::size_t kChangesPerGlance = 64;   // at the clock
constexpr std::uint64_t kAnyTask = 8;           // one change in so many is of any task
constexpr std::size_t kFarthest = 40;           // places that a task is moved

std::size_t hosts_of(const UnitTasks& tasks) {
  std::size_t hosts = 0;
  for (const UnitTask& task : tasks) {
    hosts = std::max<std::size_t>(
        {hosts, task.sender_hosts.back() + 1U, task.receiver_hosts.back() + 1U});
  }
  return hosts;
}

/// The tasks in an order, each put where it can start the earliest.
class Insertion {
 public:
  /// The makespan, and by how much tasks end after `enough`, all together.
  using Cost = std::pair<std::int64_t, std::int64_t>;

  Insertion(const UnitTasks& tasks, const TaskSchedule& first, std::int64_t enough)
      : tasks_(&tasks),
        enough_(enough),
        hosts_(hosts_of(tasks)),
        busy_(2 * hosts_),
        runs_(tasks.size()) {
    for (const TaskRun& run : first.runs) order_.push_back(run.task);
    place_from(0);
  }

  bool late(std::size_t place) const {
    const std::size_t task = order_[place];
    return runs_[task].start + (*tasks_)[task].size > enough_;
  }

  void move(std::size_t from, std::size_t to) {
    const auto at = [&](std::size_t i) { return order_.begin() + static_cast<std::ptrdiff_t>(i); };
    if (from < to) {
      std::rotate(at(from), at(from + 1), at(to + 1));
    } else {
      std::rotate(at(to), at(from), at(from + 1));
    }
    place_from(std::min(from, to));
  }

  Cost cost() const {
    Cost cost{0, 0};
    for (const TaskRun& run : runs_) {
      const std::int64_t end = run.start + (*tasks_)[run.task].size;
      cost.first = std::max(cost.first, end);
      cost.second += std::max<std::int64_t>(0, end - enough_);
    }
    return cost;
  }

  TaskSchedule schedule() const {
    TaskSchedule made{runs_, cost().first};
    std::sort(made.runs.begin(), made.runs.end(), [](const TaskRun& a, const TaskRun& b) {
      return std::tie(a.start, a.task) < std::tie(b.start, b.task);
    });
    return made;
  }

 private:
  void place_from(std::size_t first) {
    busy_.forget_from(first);
    for (std::size_t i = first; i < order_.size(); ++i) place(i);
  }

  void place(std::size_t at) {
    const UnitTask& task = (*tasks_)[order_[at]];
    const TaskRun run = earliest(task, order_[at]);
    busy_.add(run.sender, run.start, run.start + task.size, at);
    for (const std::uint32_t host : task.receiver_hosts) {
      busy_.add(hosts_ + host, run.start, run.start + task.size, at);
    }
    runs_[run.task] = run;
  }

  /// When all receivers and one of the senders are free at once.
  TaskRun earliest(const UnitTask& task, std::size_t number) const {
    std::int64_t start = 0;
    for (;;) {
      start = receivers_free(task, start);
      TaskRun run{number, 0, INT64_MAX};
      for (const std::uint32_t sender : task.sender_hosts) {
        const std::int64_t free = busy_.free_from(sender, start, task.size);
        if (free < run.start) run = {number, sender, free};
        if (free == start) return run;
      }
      start = run.start;
    }
  }

  std::int64_t receivers_free(const UnitTask& task, std::int64_t start) const {
    std::size_t free = 0;  // so many hosts in a row are free from `start`
    for (std::size_t i = 0; free < task.receiver_hosts.size();
         i = (i + 1) % task.receiver_hosts.size()) {
      const std::int64_t next = busy_.free_from(hosts_ + task.receiver_hosts[i], start, task.size);
      free = next == start ? free + 1 : 1;
      start = next;
    }
    return start;
  }

  const UnitTasks* tasks_;
  std::int64_t enough_;
  std::size_t hosts_;
  BusyTimes busy_;             // of senders, then of receivers
  std::vector<TaskRun> runs_;  // by task
  std::vector<std::size_t> order_;
};

/// Which place of the order goes where: mostly a task that ends late, to a place before.
std::pair<std::size_t, std::size_t> random_move(const Insertion& now, std::size_t tasks,
                                                std::mt19937_64& random) {
  std::size_t from = random() % tasks;
  if (random() % kAnyTask != 0) {
    for (std::size_t i = 0; i < tasks && !now.late(from); ++i) from = (from + 1) % tasks;
    return {from, from - random() % (std::min(from, kFarthest) + 1)};
  }
  const std::size_t low = from - std::min(from, kFarthest);
  return {from, low + random() % (std::min(tasks, from + kFarthest) - low)};
}

}  // namespace

TaskSchedule insertion_search(const UnitTasks& tasks, const TaskSchedule& first,
                              std::int64_t enough, std::uint64_t seed, const Limits& limits) {
  std::mt19937_64 random(seed);
  TaskSchedule best = first;
  Insertion now(tasks, first, enough);
  Insertion moved = now;
  Insertion::Cost cost = now.cost();
  std::vector<Insertion::Cost> before(kMemory, cost);
  const std::size_t changes =
      std::min(kMostPlaced / tasks.size(), kChangesPerPair * tasks.size() * tasks.size());
  for (std::size_t i = 0; i < changes && best.makespan > enough; ++i) {
    if (i % kChangesPerGlance == 0 && limits.exceeded(0)) break;
    if (cost.first < best.makespan) best = now.schedule();
    const auto [from, to] = random_move(now, tasks.size(), random);
    moved = now;
    moved.move(from, to);
    const Insertion::Cost changed = moved.cost();
    if (changed <= cost || changed <= before[i % kMemory]) {
      cost = changed;
      std::swap(now, moved);
    }
    before[i % kMemory] = cost;
  }
  if (cost.first < best.makespan) best = now.schedule();
  return best;
}

}  // namespace p2
