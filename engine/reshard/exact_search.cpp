#include "engine/reshard/exact_search.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "engine/base/invariant.h"
#include "engine/reshard/beam_search.h"
#include "engine/reshard/explored_states.h"
#include "engine/reshard/insertion_search.h"
#include "engine/reshard/list_scheduling.h"
#include "engine/reshard/strategies.h"

namespace p2 {
namespace {

constexpr std::size_t kMostRemembered = std::size_t{1} << 30;  // bytes

TaskSchedule first_schedule(const UnitTasks& tasks, const SchedulingProblem& problem,
                            std::int64_t enough, std::uint64_t seed, const Limits& limits) {
  TaskSchedule best = naive_schedule(tasks);
  const auto improve = [&](TaskSchedule other) {
    if (other.makespan < best.makespan) best = std::move(other);
  };
  improve(load_balanced_schedule(tasks));
  if (best.makespan > enough) improve(list_schedule(tasks, problem, enough, seed));
  if (best.makespan > enough) improve(greedy_schedule(tasks, seed));
  if (best.makespan > enough) {
    const StartSequence shorter = beam_search(problem, best.makespan, enough, limits);
    if (!shorter.empty()) improve(to_schedule(tasks, problem, shorter));
  }
  if (best.makespan > enough) improve(insertion_search(tasks, problem, best, enough, seed, limits));
  return best;
}

class Search {
 public:
  Search(const UnitTasks& tasks, const SchedulingProblem& problem, TaskSchedule first,
         std::int64_t enough, const Limits& limits, ScheduleSearchProgress& progress)
      : tasks_(tasks),
        problem_(problem),
        best_(std::move(first)),
        enough_(enough),
        limits_(limits),
        progress_(progress),
        explored_(problem, enough,
                  std::min(limits.memory_bytes.value_or(kMostRemembered), kMostRemembered)) {
    progress_.best = best_.makespan;
  }

  void run() { explore(PartialSchedule(problem_), enough_); }
  TaskSchedule& best() { return best_; }
  /// No schedule is shorter than this.
  std::int64_t proven() const { return std::min(best_.makespan, open_); }

 private:
  struct Child {
    PartialSchedule state;
    std::int64_t bound;
    std::size_t number;
    std::size_t sender;
  };

  /// `bound` is a lower bound of all that follows from the state.
  void explore(const PartialSchedule& state, std::int64_t bound) {
    ++progress_.states;
    if (state.tasks_left == 0) return found(state);
    std::vector<Child> next = children(state, bound);
    for (const Child& child : next) {
      if (child.bound >= best_.makespan) continue;
      stopped_ = stopped_ || limits_.exceeded(0);
      if (stopped_) {
        open_ = std::min(open_, child.bound);
        continue;
      }
      if (explored_.covers_or_add(child.state)) continue;
      sequence_.emplace_back(child.number, child.sender);
      explore(child.state, child.bound);
      sequence_.pop_back();
      if (best_.makespan == enough_) return;
    }
  }

  void found(const PartialSchedule& state) {
    best_ = to_schedule(tasks_, problem_, sequence_);
    invariant(best_.makespan <= state.end, "a schedule is longer than the search thought");
    progress_.best = best_.makespan;
  }

  /// What can start next, the most promising first. Some shortest schedule starts a task before the
  /// earliest possible end of any: otherwise that one could go first and delay nothing.
  std::vector<Child> children(const PartialSchedule& state, std::int64_t bound) const {
    std::int64_t horizon = std::numeric_limits<std::int64_t>::max();
    for_each_start(state, [&](std::size_t number, std::size_t, std::int64_t start) {
      horizon = std::min(horizon, start + problem_.classes[number].size);
    });
    std::vector<Child> next;
    for_each_start(state, [&](std::size_t number, std::size_t sender, std::int64_t start) {
      if (start >= horizon) return;
      Child child{state, 0, number, sender};
      child.state.start(problem_, number, sender);
      // With many tasks the bounds of one state's children can take seconds.
      child.bound = limits_.exceeded(0) ? bound : lower_bound(child.state, problem_).value;
      if (child.bound < best_.makespan) next.push_back(std::move(child));
    });
    std::stable_sort(next.begin(), next.end(), [](const Child& a, const Child& b) {
      return std::tie(a.bound, a.state.now) < std::tie(b.bound, b.state.now);
    });
    return next;
  }

  template <typename Visit>
  void for_each_start(const PartialSchedule& state, Visit visit) const {
    for (std::size_t number = 0; number < problem_.classes.size(); ++number) {
      if (state.left[number] == 0) continue;
      for (const std::size_t sender : problem_.classes[number].senders) {
        visit(number, sender, state.earliest_start(problem_.classes[number], sender));
      }
    }
  }

  const UnitTasks& tasks_;
  const SchedulingProblem& problem_;
  TaskSchedule best_;
  const std::int64_t enough_;
  const Limits& limits_;
  ScheduleSearchProgress& progress_;
  ExploredStates explored_;
  StartSequence sequence_;
  bool stopped_ = false;
  std::int64_t open_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace

ExactSchedule exact_schedule(const UnitTasks& tasks, const SchedulingProblem& problem,
                             std::uint64_t seed, const Limits& limits,
                             ScheduleSearchProgress& progress) {
  const LowerBound bound = lower_bound(PartialSchedule(problem), problem);
  ExactSchedule answer{first_schedule(tasks, problem, bound.value, seed, limits), bound,
                       bound.value, 0};
  if (!answer.optimal()) {
    Search search(tasks, problem, std::move(answer.schedule), bound.value, limits, progress);
    search.run();
    answer.schedule = std::move(search.best());
    answer.lower_bound = std::max(bound.value, search.proven());
    answer.states = progress.states;
  }
  const auto mistake = mistake_in(answer.schedule, tasks);
  invariant(!mistake, "the search made a schedule that is none");
  return answer;
}

}  // namespace p2
