#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <span>

#include "engine/reshard/scheduling.h"
#include "engine/reshard/sharding.h"

namespace p2 {
namespace {

/// The hosts of every task in one numbering: senders, then the receivers of a SchedulingProblem.
struct TaskResources {
  struct Task {
    std::int64_t size = 1;
    std::span<const std::uint32_t> senders;
    std::span<const std::uint32_t> receivers;
  };

  TaskResources(const TaskResources&) = delete;
  TaskResources& operator=(const TaskResources&) = delete;
  TaskResources(const UnitTasks& unit_tasks, const SchedulingProblem& problem);

  /// Whether the tasks share a receiver, hence cannot overlap in time.
  bool share_receiver(std::size_t a, std::size_t b) const {
    return shares_receiver_[a * tasks.size() + b] != 0;
  }

  std::vector<Task> tasks;
  std::size_t hosts = 0;

 private:
  std::vector<char> shares_receiver_;
  std::vector<std::uint32_t> host_indices_;  // storage of the spans
};

/// A semi-active schedule as an order of tasks with senders. Every task has a head, the longest
/// path to its start, and a tail, the longest path from its end (Dell'Amico and Trubian, "Applying
/// tabu search to the job-shop scheduling problem", 1993).
class OrderedSchedule {
 public:
  /// `hosts` must outlive it. The order and the senders of `schedule`.
  OrderedSchedule(const TaskResources& hosts, const SchedulingProblem& problem,
                  const TaskSchedule& schedule);

  std::int64_t makespan() const { return makespan_; }
  /// The length of the longest path through the task.
  std::int64_t longest_path(std::size_t task) const {
    return head_[task] + hosts_->tasks[task].size + tail_[task];
  }
  /// The sum over tasks of the excess of longest_path() over `target`.
  double excess(std::int64_t target) const;

  /// In the order of starts.
  const std::vector<std::uint32_t>& order() const { return order_; }

  void remove(const std::vector<std::uint32_t>& tasks);
  /// Inserts a task at the position and on the sender that minimise the longest path through it,
  /// each length disturbed by exponential noise of mean `noise`.
  void reinsert(std::uint32_t task, double noise, std::mt19937_64& random);
  /// Recomputes heads, tails and the makespan after removals and insertions.
  void recompute();

  TaskSchedule schedule(const UnitTasks& tasks, const SchedulingProblem& problem) const;

 private:
  struct Insertion {
    std::size_t at = 0;
    std::uint32_t sender = 0;
  };

  /// What inserting a task before a position of the order has to respect.
  struct Position {
    std::int64_t sender_tail = 0;  // size and tail of the next task on the same sender
    std::int64_t receiver_tail =
        0;  // largest size and tail of the later tasks that share a receiver
    bool shares_receiver = false;
    bool relevant = false;  // shares a receiver, or possibly the sender
  };

  void compute_heads();
  void compute_tails();
  void sort_by_tails();
  /// By position, and one for the end. `after`: by sender, the size and tail of its first task.
  std::vector<Position> positions(std::uint32_t task, std::vector<std::int64_t>& after) const;
  Insertion best_insertion(std::uint32_t task, double noise, std::mt19937_64& random) const;

  const TaskResources* hosts_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> sender_;  // by task
  std::vector<std::int64_t> head_;     // by task
  std::vector<std::int64_t> tail_;     // by task
  std::vector<std::int64_t> ready_;    // by host, for compute_heads() and compute_tails()
  std::int64_t makespan_ = 0;
};

/// Exponentially distributed with mean 1; the same on every platform.
double exponential_sample(std::mt19937_64& random);

TaskResources::TaskResources(const UnitTasks& unit_tasks, const SchedulingProblem& problem)
    : tasks(unit_tasks.size()), hosts(problem.sender_hosts.size() + problem.receiver_hosts.size()) {
  for (const TaskClass& each : problem.classes) {
    for (const std::size_t host : each.senders) {
      host_indices_.push_back(static_cast<std::uint32_t>(host));
    }
    for (const std::size_t host : each.receivers) {
      host_indices_.push_back(static_cast<std::uint32_t>(problem.sender_hosts.size() + host));
    }
  }
  auto rest = std::span<const std::uint32_t>(host_indices_);
  const auto next = [&](std::size_t count) {
    const auto some = rest.first(count);
    rest = rest.subspan(count);
    return some;
  };
  for (const TaskClass& each : problem.classes) {
    const auto senders = next(each.senders.size());
    const Task done{each.size, senders, next(each.receivers.size())};
    for (const std::size_t task : each.tasks) tasks[task] = done;
  }
  for (const Task& a : tasks) {
    for (const Task& b : tasks) {
      const auto host = std::find_first_of(a.receivers.begin(), a.receivers.end(),
                                           b.receivers.begin(), b.receivers.end());
      shares_receiver_.push_back(host != a.receivers.end() ? 1 : 0);
    }
  }
}

OrderedSchedule::OrderedSchedule(const TaskResources& hosts, const SchedulingProblem& problem,
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
  compute_heads();
  compute_tails();
}

double OrderedSchedule::excess(std::int64_t target) const {
  double sum = 0;
  for (const std::uint32_t task : order_) {
    sum += static_cast<double>(std::max<std::int64_t>(0, longest_path(task) - target));
  }
  return sum;
}

void OrderedSchedule::compute_heads() {
  ready_.assign(hosts_->hosts, 0);
  makespan_ = 0;
  for (const std::uint32_t i : order_) {
    const TaskResources::Task& task = hosts_->tasks[i];
    std::int64_t start = ready_[sender_[i]];
    for (const std::uint32_t host : task.receivers) start = std::max(start, ready_[host]);
    head_[i] = start;
    const std::int64_t end = start + task.size;
    ready_[sender_[i]] = end;
    for (const std::uint32_t host : task.receivers) ready_[host] = end;
    makespan_ = std::max(makespan_, end);
  }
}

void OrderedSchedule::compute_tails() {
  ready_.assign(hosts_->hosts, 0);
  for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
    const TaskResources::Task& task = hosts_->tasks[*at];
    std::int64_t tail = ready_[sender_[*at]];
    for (const std::uint32_t host : task.receivers) tail = std::max(tail, ready_[host]);
    tail_[*at] = tail;
    ready_[sender_[*at]] = tail + task.size;
    for (const std::uint32_t host : task.receivers) ready_[host] = tail + task.size;
  }
}

/// A topological order that keeps heads and tails: of two tasks on one host the first has the
/// larger tail. Insertion sort, since the order is nearly sorted.
void OrderedSchedule::sort_by_tails() {
  const auto left = [&](std::size_t task) { return tail_[task] + hosts_->tasks[task].size; };
  for (std::size_t i = 1; i < order_.size(); ++i) {
    const std::uint32_t task = order_[i];
    std::size_t at = i;
    for (; at > 0 && left(order_[at - 1]) < left(task); --at) order_[at] = order_[at - 1];
    order_[at] = task;
  }
}

std::vector<OrderedSchedule::Position> OrderedSchedule::positions(
    std::uint32_t task, std::vector<std::int64_t>& after) const {
  std::vector<Position> all(order_.size() + 1);
  std::vector<char> could_send(hosts_->hosts);
  for (const std::uint32_t host : hosts_->tasks[task].senders) could_send[host] = 1;
  after.assign(hosts_->hosts, 0);
  for (std::size_t i = order_.size(); i-- > 0;) {
    const std::uint32_t other = order_[i];
    const std::int64_t left = tail_[other] + hosts_->tasks[other].size;
    const bool shares_receiver = hosts_->share_receiver(task, other);
    std::int64_t& next = after[sender_[other]];
    all[i] = {next, shares_receiver ? left : all[i + 1].receiver_tail, shares_receiver,
              shares_receiver || could_send[sender_[other]] != 0};
    next = left;
  }
  return all;
}

OrderedSchedule::Insertion OrderedSchedule::best_insertion(std::uint32_t task, double noise,
                                                           std::mt19937_64& random) const {
  std::vector<std::int64_t> after;
  const std::vector<Position> all = positions(task, after);
  std::vector<std::int64_t> before(hosts_->hosts);  // by sender: the end of its last task so far
  std::int64_t received = 0;  // the end of the last task so far that shares a receiver
  double least = std::numeric_limits<double>::max();
  Insertion best;
  const auto consider = [&](std::size_t at, std::uint32_t sender) {
    const std::int64_t head = std::max(received, before[sender]);
    auto longest_path = static_cast<double>(head + std::max(all[at].receiver_tail, after[sender]));
    if (longest_path >= least) return;
    longest_path += noise * exponential_sample(random);
    if (longest_path >= least) return;
    least = longest_path;
    best = {at, sender};
  };
  for (std::size_t at = 0;; ++at) {
    if (at == 0 || all[at - 1].relevant) {
      for (const std::uint32_t sender : hosts_->tasks[task].senders) consider(at, sender);
    }
    if (at == order_.size()) return best;
    const std::size_t passed = order_[at];
    const std::int64_t end = head_[passed] + hosts_->tasks[passed].size;
    if (all[at].shares_receiver) received = std::max(received, end);
    before[sender_[passed]] = end;
    after[sender_[passed]] = all[at].sender_tail;
  }
}

void OrderedSchedule::remove(const std::vector<std::uint32_t>& tasks) {
  std::erase_if(order_, [&](std::uint32_t task) {
    return std::find(tasks.begin(), tasks.end(), task) != tasks.end();
  });
}

void OrderedSchedule::reinsert(std::uint32_t task, double noise, std::mt19937_64& random) {
  sort_by_tails();
  const Insertion place = best_insertion(task, noise, random);
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(place.at), task);
  sender_[task] = place.sender;
}

void OrderedSchedule::recompute() {
  compute_heads();
  compute_tails();
}

TaskSchedule OrderedSchedule::schedule(const UnitTasks& tasks,
                                       const SchedulingProblem& problem) const {
  std::vector<std::uint32_t> senders;
  for (const std::uint32_t sender : sender_) senders.push_back(problem.sender_hosts[sender]);
  return schedule_in_order(tasks, {order_.begin(), order_.end()}, senders);
}

double exponential_sample(std::mt19937_64& random) {
  constexpr double kStep = 1.0 / (std::uint64_t{1} << 53U);
  return -std::log((static_cast<double>(random() >> 11U) + 1) * kStep);
}

constexpr std::size_t kMaxPlacements = 180'000'000;  // recomputed tasks, over all steps of a round
constexpr std::size_t kCubicDivisor = 3;             // a long round has n³ / 3 steps for n tasks
constexpr std::size_t kShortRoundDivisor = 10;       // the first round is shorter by this factor
constexpr std::size_t kLongRounds = 3;
constexpr std::size_t kExactSearchClasses = 64;  // above, branch and bound is hopeless
constexpr std::size_t kMaxDoublings = 20;
constexpr double kRoundTimeFraction = 0.95;  // of the remaining time
constexpr std::size_t kChangesPerLimitCheck = 16;
constexpr std::uint64_t kUnbiasedChoice = 16;  // one change in 16 starts from any task
constexpr int kMaxDraws = 50;                  // for a task on a long path
// Tuned by experiment:
constexpr std::uint64_t kMaxRemoved = 10;   // tasks per change
constexpr std::uint64_t kMaxDistance = 20;  // positions between them
constexpr double kTemperature = 0.15;       // of the sum of sizes
constexpr double kNoiseFraction = 0.5;      // of the mean size

class Annealing {
 public:
  Annealing(const UnitTasks& tasks, const SchedulingProblem& problem, const TaskSchedule& first,
            std::int64_t target, std::uint64_t seed, const Limits& limits)
      : tasks_(tasks),
        problem_(problem),
        target_(target),
        limits_(limits),
        random_(seed),
        hosts_(tasks, problem),
        current_(hosts_, problem, first),
        candidate_(current_),
        cost_(current_.excess(target)),
        best_(first) {
    for (const UnitTask& task : tasks) total_size_ += static_cast<double>(task.size);
  }

  TaskSchedule run() {
    const std::size_t count = tasks_.size();
    const std::size_t max_steps = kMaxPlacements / count;
    const std::size_t longest = std::min(max_steps, count * count * count / kCubicDivisor);
    const auto begin = Clock::now();
    const bool until_deadline = limits_.deadline && problem_.classes.size() > kExactSearchClasses;
    std::size_t done = longest / kShortRoundDivisor + 1;
    bool more = round(done);
    for (std::size_t i = 0; more; ++i) {
      if (!until_deadline && (i == kLongRounds || done >= max_steps)) break;
      const std::size_t steps = until_deadline ? longest << std::min(i, kMaxDoublings) : longest;
      const std::size_t next = fit_to_deadline(steps, done, Clock::now() - begin);
      more = round(next);
      done += next;
    }
    return best_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// The number of steps of a round such that it ends, cold, before the deadline; `done` steps took
  /// `took`.
  std::size_t fit_to_deadline(std::size_t steps, std::size_t done, Clock::duration took) const {
    if (!limits_.deadline) return steps;
    const std::chrono::duration<double> left = *limits_.deadline - Clock::now();
    const double rounds = left / std::chrono::duration<double>(took);
    const double fit = kRoundTimeFraction * rounds * static_cast<double>(done);
    return fit < static_cast<double>(steps) ? static_cast<std::size_t>(std::max(fit, 1.0)) : steps;
  }

  /// One annealing round. False at the target or at a limit. A step recomputes all heads and tails
  /// once.
  bool round(std::size_t steps) {
    std::size_t changes = 0;
    for (std::size_t done = 0; done < steps; ++changes) {
      if (best_.makespan <= target_) return false;
      if (changes % kChangesPerLimitCheck == 0 && limits_.exceeded(0)) return false;
      done += try_change(1 - static_cast<double>(done) / static_cast<double>(steps));
    }
    return true;
  }

  /// `temperature` falls from 1 to 0. Returns the number of steps.
  std::size_t try_change(double temperature) {
    const double noise =
        kNoiseFraction * temperature * total_size_ / static_cast<double>(tasks_.size());
    const double threshold =
        cost_ + kTemperature * temperature * total_size_ * exponential_sample(random_);
    const std::vector<std::uint32_t> moved = draw_tasks();
    candidate_ = current_;
    candidate_.remove(moved);
    candidate_.recompute();
    std::size_t steps = 1;
    for (const std::uint32_t task : moved) {
      if (candidate_.excess(target_) > threshold) return steps;  // insertions never reduce it
      candidate_.reinsert(task, noise, random_);
      candidate_.recompute();
      ++steps;
    }
    const double cost = candidate_.excess(target_);
    if (cost > threshold) return steps;
    cost_ = cost;
    std::swap(current_, candidate_);
    if (current_.makespan() < best_.makespan) best_ = current_.schedule(tasks_, problem_);
    return steps;
  }

  /// A task, mostly on a path longer than the target, and some that start at about the same time,
  /// in random order.
  std::vector<std::uint32_t> draw_tasks() {
    const auto& order = current_.order();
    std::size_t place = 0;
    for (int draws = 0; draws < kMaxDraws; ++draws) {
      place = random_() % order.size();
      if (current_.longest_path(order[place]) > target_ || random_() % kUnbiasedChoice == 0) break;
    }
    std::vector<std::uint32_t> tasks{order[place]};
    for (std::uint64_t more = random_() % kMaxRemoved; more > 0; --more) {
      const std::size_t other = place + random_() % (2 * kMaxDistance + 1);
      if (other < kMaxDistance || other - kMaxDistance >= order.size()) continue;
      const std::uint32_t task = order[other - kMaxDistance];
      if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) tasks.push_back(task);
    }
    for (std::size_t i = tasks.size(); i > 1; --i) std::swap(tasks[i - 1], tasks[random_() % i]);
    return tasks;
  }

  const UnitTasks& tasks_;
  const SchedulingProblem& problem_;
  const std::int64_t target_;
  const Limits& limits_;
  std::mt19937_64 random_;
  const TaskResources hosts_;
  OrderedSchedule current_;
  OrderedSchedule candidate_;
  double cost_;
  double total_size_ = 0;
  TaskSchedule best_;
};

}  // namespace

TaskSchedule insertion_search(const UnitTasks& tasks, const SchedulingProblem& problem,
                              const TaskSchedule& first, std::int64_t target, std::uint64_t seed,
                              const Limits& limits) {
  return Annealing(tasks, problem, first, target, seed, limits).run();
}

}  // namespace p2
