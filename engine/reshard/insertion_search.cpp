#include "engine/reshard/insertion_search.h"

#include <algorithm>
#include <chrono>

#include "engine/reshard/task_order.h"

namespace p2 {
namespace {

constexpr std::size_t kMostPlaced = 130'000'000;  // tasks, by all changes
constexpr std::size_t kTriplesPerChange = 3;      // of tasks
constexpr std::size_t kShorter = 10;              // the first round, than a long one
constexpr std::size_t kLongRounds = 3;
constexpr double kOfTime = 0.95;               // that is left, for a round
constexpr std::size_t kChangesPerGlance = 64;  // at the clock
constexpr std::uint64_t kAnyTask = 16;         // one change in so many is of any task
constexpr int kLooks = 50;                     // for a task in a long chain
constexpr double kHeat = 0.15;                 // of the sizes of all tasks: found by trial
constexpr double kNoise = 2.5;                 // of the mean size: found by trial

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
    const std::size_t longest = std::min(most, count * count * count / kTriplesPerChange);
    const auto begin = Clock::now();
    std::size_t made = longest / kShorter + 1;
    bool more = round(made);
    for (std::size_t i = 0; more && i < kLongRounds && made < most; ++i) {
      const std::size_t next = before_deadline(longest, made, Clock::now() - begin);
      more = round(next);
      made += next;
    }
    return best_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// So many changes, or what can be made in time if `made` took so long: a round that the deadline
  /// cuts off has not come to rest.
  std::size_t before_deadline(std::size_t changes, std::size_t made, Clock::duration took) const {
    if (!limits_.deadline) return changes;
    const std::chrono::duration<double> left = *limits_.deadline - Clock::now();
    const double rounds = left / std::chrono::duration<double>(took);
    const double fit = kOfTime * rounds * static_cast<double>(made);
    return fit < static_cast<double>(changes) ? static_cast<std::size_t>(std::max(fit, 1.0))
                                              : changes;
  }

  /// False where there is no need or no time to go on.
  bool round(std::size_t changes) {
    for (std::size_t i = 0; i < changes; ++i) {
      if (best_.makespan <= enough_) return false;
      if (i % kChangesPerGlance == 0 && limits_.exceeded(0)) return false;
      change(1 - static_cast<double>(i) / static_cast<double>(changes));
    }
    return true;
  }

  /// `heat`: from 1 to 0, how much is left to chance.
  void change(double heat) {
    changed_ = now_;
    const double mean = total_ / static_cast<double>(tasks_.size());
    const double most = cost_ + kHeat * heat * total_ * chance(random_);
    if (!changed_.reinsert(some_task(), kNoise * heat * mean, enough_, most, random_)) return;
    cost_ = changed_.excess(enough_);
    std::swap(now_, changed_);
    if (now_.makespan() < best_.makespan) best_ = now_.schedule(tasks_, problem_);
  }

  std::size_t some_task() {
    std::size_t task = 0;
    for (int looks = 0; looks < kLooks; ++looks) {
      task = random_() % tasks_.size();
      if (now_.chain(task) > enough_ || random_() % kAnyTask == 0) break;
    }
    return task;
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
