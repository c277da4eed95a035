#include "engine/reshard/insertion_search.h"

#include <algorithm>
#include <chrono>

#include "engine/reshard/task_order.h"

namespace p2 {
namespace {

constexpr std::size_t kMostPlaced = 180'000'000;  // tasks, each as often as it gets other times
constexpr std::size_t kTriplesPerStep = 3;        // of tasks
constexpr std::size_t kShorter = 10;              // the first round, than a long one
constexpr std::size_t kLongRounds = 3;
constexpr std::size_t kFewClasses = 64;  // with more no search decides, and time is best spent here
constexpr std::size_t kMostDoubled = 20;
constexpr double kOfTime = 0.95;               // that is left, for a round
constexpr std::size_t kChangesPerGlance = 16;  // at the clock
constexpr std::uint64_t kAnyTask = 16;         // one change in so many is of any task
constexpr int kLooks = 50;                     // for a task in a long chain
constexpr std::uint64_t kMostMoved = 10;       // tasks in a change: this and the next by trial
constexpr std::uint64_t kFarthest = 20;        // places between them
constexpr double kHeat = 0.15;                 // of the sizes of all tasks
constexpr double kNoise = 0.5;                 // of the mean size

class Annealing {
 public:
  Annealing(const UnitTasks& tasks, const SchedulingProblem& problem, const TaskSchedule& first,
            std::int64_t enough, std::uint64_t seed, const Limits& limits)
      : tasks_(tasks),
        problem_(problem),
        enough_(enough),
        limits_(limits),
        random_(seed),
        hosts_(tasks, problem),
        now_(hosts_, problem, first),
        changed_(now_),
        cost_(now_.excess(enough)),
        best_(first) {
    for (const UnitTask& task : tasks) total_ += static_cast<double>(task.size);
  }

  TaskSchedule run() {
    const std::size_t count = tasks_.size();
    const std::size_t most = kMostPlaced / count;
    const std::size_t longest = std::min(most, count * count * count / kTriplesPerStep);
    const auto begin = Clock::now();
    const bool until_deadline = limits_.deadline && problem_.classes.size() > kFewClasses;
    std::size_t made = longest / kShorter + 1;
    bool more = round(made);
    for (std::size_t i = 0; more; ++i) {
      if (!until_deadline && (i == kLongRounds || made >= most)) break;
      const std::size_t steps = until_deadline ? longest << std::min(i, kMostDoubled) : longest;
      const std::size_t next = before_deadline(steps, made, Clock::now() - begin);
      more = round(next);
      made += next;
    }
    return best_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// So many steps, or what can be made in time if `made` took so long: a round that the deadline
  /// cuts off has not come to rest.
  std::size_t before_deadline(std::size_t steps, std::size_t made, Clock::duration took) const {
    if (!limits_.deadline) return steps;
    const std::chrono::duration<double> left = *limits_.deadline - Clock::now();
    const double rounds = left / std::chrono::duration<double>(took);
    const double fit = kOfTime * rounds * static_cast<double>(made);
    return fit < static_cast<double>(steps) ? static_cast<std::size_t>(std::max(fit, 1.0)) : steps;
  }

  /// False where there is no need or no time to go on. In a step all tasks get other times once.
  bool round(std::size_t steps) {
    std::size_t changes = 0;
    for (std::size_t made = 0; made < steps; ++changes) {
      if (best_.makespan <= enough_) return false;
      if (changes % kChangesPerGlance == 0 && limits_.exceeded(0)) return false;
      made += change(1 - static_cast<double>(made) / static_cast<double>(steps));
    }
    return true;
  }

  /// `heat`: from 1 to 0, how much is left to chance. Returns the steps it took.
  std::size_t change(double heat) {
    const double noise = kNoise * heat * total_ / static_cast<double>(tasks_.size());
    const double most = cost_ + kHeat * heat * total_ * chance(random_);
    const std::vector<std::uint32_t> moved = some_tasks();
    changed_ = now_;
    changed_.take_out(moved);
    changed_.settle();
    std::size_t steps = 1;
    for (const std::uint32_t task : moved) {
      if (changed_.excess(enough_) > most) return steps;  // what comes in makes no chain shorter
      changed_.put_in(task, noise, random_);
      changed_.settle();
      ++steps;
    }
    const double cost = changed_.excess(enough_);
    if (cost > most) return steps;
    cost_ = cost;
    std::swap(now_, changed_);
    if (now_.makespan() < best_.makespan) best_ = now_.schedule(tasks_, problem_);
    return steps;
  }

  /// One that is mostly in a long chain, and some that start at about the same time, in any order.
  std::vector<std::uint32_t> some_tasks() {
    const auto& order = now_.order();
    std::size_t place = 0;
    for (int looks = 0; looks < kLooks; ++looks) {
      place = random_() % order.size();
      if (now_.chain(order[place]) > enough_ || random_() % kAnyTask == 0) break;
    }
    std::vector<std::uint32_t> tasks{order[place]};
    for (std::uint64_t more = random_() % kMostMoved; more > 0; --more) {
      const std::size_t other = place + random_() % (2 * kFarthest + 1);
      if (other < kFarthest || other - kFarthest >= order.size()) continue;
      const std::uint32_t task = order[other - kFarthest];
      if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) tasks.push_back(task);
    }
    for (std::size_t i = tasks.size(); i > 1; --i) std::swap(tasks[i - 1], tasks[random_() % i]);
    return tasks;
  }

  const UnitTasks& tasks_;
  const SchedulingProblem& problem_;
  const std::int64_t enough_;
  const Limits& limits_;
  std::mt19937_64 random_;
  const TaskHosts hosts_;
  TaskOrder now_;
  TaskOrder changed_;
  double cost_;
  double total_ = 0;
  TaskSchedule best_;
};

}  // namespace

TaskSchedule insertion_search(const UnitTasks& tasks, const SchedulingProblem& problem,
                              const TaskSchedule& first, std::int64_t enough, std::uint64_t seed,
                              const Limits& limits) {
  return Annealing(tasks, problem, first, enough, seed, limits).run();
}

}  // namespace p2
