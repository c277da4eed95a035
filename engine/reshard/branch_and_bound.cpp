#include "engine/reshard/scheduling.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <tuple>
#include <unordered_map>

#include "engine/base/invariant.h"

namespace p2 {
namespace {

/// The explored states, for a dominance rule: by numbers of remaining tasks, the vectors of times
/// at which hosts become free that no other one dominates.
class DominanceTable {
 public:
  /// Ends up to `target`, a lower bound of all schedules, count as equal.
  DominanceTable(const SchedulingProblem& problem, std::int64_t target, std::size_t max_bytes)
      : problem_(problem), target_(target), max_bytes_(max_bytes) {}

  /// Whether an inserted state dominates this one: the same remaining tasks and, up to a
  /// permutation of interchangeable senders, every host free no later. If not, inserts it if there
  /// is room.
  bool dominates_or_insert(const PartialSchedule& state);

 private:
  using Times = std::vector<std::int64_t>;

  Times times_of(const PartialSchedule& state) const;

  const SchedulingProblem& problem_;
  const std::int64_t target_;
  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::string, std::vector<Times>> entries_;
};

constexpr std::size_t kMaxPerKey = 256;     // comparing with more costs more than exploring
constexpr std::size_t kEntryOverhead = 96;  // bytes

std::string key_of(const std::vector<std::size_t>& remaining) {
  std::string key;
  for (const std::size_t count : remaining) {
    key += static_cast<char>(count & 0xff);
    key += static_cast<char>(count >> 8);
  }
  return key;
}

bool dominates(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), std::less_equal<>());
}

/// Normalised: 0 for hosts that no remaining task needs, at least `now` for the others, sorted
/// among interchangeable senders.
DominanceTable::Times DominanceTable::times_of(const PartialSchedule& state) const {
  const std::size_t senders = state.send_free.size();
  Times times(1 + senders + state.receive_free.size());
  times[0] = std::max(state.end, target_);
  for (std::size_t i = 0; i < problem_.classes.size(); ++i) {
    if (state.remaining[i] == 0) continue;
    for (const std::size_t sender : problem_.classes[i].senders) {
      times[1 + sender] = std::max(state.now, state.send_free[sender]);
    }
    for (const std::size_t receiver : problem_.classes[i].receivers) {
      times[1 + senders + receiver] = std::max(state.now, state.receive_free[receiver]);
    }
  }
  for (std::size_t i = 0; i < senders; ++i) {
    for (std::size_t j = i + 1; j < senders; ++j) {
      if (problem_.representative[i] == problem_.representative[j] && times[1 + j] < times[1 + i]) {
        std::swap(times[1 + i], times[1 + j]);
      }
    }
  }
  return times;
}

bool DominanceTable::dominates_or_insert(const PartialSchedule& state) {
  Times times = times_of(state);
  const auto entry = entries_.find(key_of(state.remaining));
  if (entry != entries_.end()) {
    auto& known = entry->second;
    if (std::any_of(known.begin(), known.end(),
                    [&](const Times& other) { return dominates(other, times); })) {
      return true;
    }
    const auto worse = std::remove_if(known.begin(), known.end(),
                                      [&](const Times& other) { return dominates(times, other); });
    known.erase(worse, known.end());
    if (known.size() == kMaxPerKey) return false;
  }
  if (bytes_ > max_bytes_) return false;
  bytes_ += kEntryOverhead + times.size() * sizeof(std::int64_t) + 2 * state.remaining.size();
  entries_[key_of(state.remaining)].push_back(std::move(times));
  return false;
}

constexpr std::size_t kMaxTableBytes = std::size_t{1} << 30;  // bytes

TaskSchedule heuristic_schedule(const UnitTasks& tasks, const SchedulingProblem& problem,
                                std::int64_t target, std::uint64_t seed, const Limits& limits) {
  TaskSchedule best = naive_schedule(tasks);
  const auto improve = [&](TaskSchedule other) {
    if (other.makespan < best.makespan) best = std::move(other);
  };
  improve(load_balanced_schedule(tasks));
  if (best.makespan > target) improve(list_schedule(tasks, problem, target, seed));
  if (best.makespan > target) improve(greedy_schedule(tasks, seed));
  if (best.makespan > target) {
    const StartSequence shorter = beam_search(problem, best.makespan, target, limits);
    if (!shorter.empty()) improve(to_schedule(tasks, problem, shorter));
  }
  if (best.makespan > target) improve(insertion_search(tasks, problem, best, target, seed, limits));
  return best;
}

class Search {
 public:
  Search(const UnitTasks& tasks, const SchedulingProblem& problem, TaskSchedule first,
         std::int64_t target, const Limits& limits, ScheduleSearchProgress& progress)
      : tasks_(tasks),
        problem_(problem),
        best_(std::move(first)),
        target_(target),
        limits_(limits),
        progress_(progress),
        table_(problem, target, limits.room(kMaxTableBytes)) {
    progress_.best = best_.makespan;
  }

  void run() { explore(PartialSchedule(problem_), target_); }
  TaskSchedule& best() { return best_; }
  /// A lower bound of all schedules.
  std::int64_t proven() const { return std::min(best_.makespan, open_bound_); }

 private:
  struct Child {
    PartialSchedule state;
    std::int64_t bound;
    std::size_t number;
    std::size_t sender;
  };

  /// `bound`: a lower bound of the completions of the state.
  void explore(const PartialSchedule& state, std::int64_t bound) {
    ++progress_.states;
    if (state.remaining_tasks == 0) return record(state);
    std::vector<Child> branches = children(state, bound);
    for (const Child& child : branches) {
      if (child.bound >= best_.makespan) continue;
      stopped_ = stopped_ || limits_.exceeded(0);
      if (stopped_) {
        open_bound_ = std::min(open_bound_, child.bound);
        continue;
      }
      if (table_.dominates_or_insert(child.state)) continue;
      sequence_.emplace_back(child.number, child.sender);
      explore(child.state, child.bound);
      sequence_.pop_back();
      if (best_.makespan == target_) return;
    }
  }

  void record(const PartialSchedule& state) {
    best_ = to_schedule(tasks_, problem_, sequence_);
    invariant(best_.makespan <= state.end, "a schedule ends later than its search state");
    progress_.best = best_.makespan;
  }

  /// The tasks that can start next, by lower bound. Only active schedules are branched on: the next
  /// task starts before the earliest possible end of any, else that one could go first.
  std::vector<Child> children(const PartialSchedule& state, std::int64_t bound) const {
    std::int64_t horizon = std::numeric_limits<std::int64_t>::max();
    for_each_start(state, [&](std::size_t number, std::size_t, std::int64_t start) {
      horizon = std::min(horizon, start + problem_.classes[number].size);
    });
    std::vector<Child> branches;
    for_each_start(state, [&](std::size_t number, std::size_t sender, std::int64_t start) {
      if (start >= horizon) return;
      Child child{state, 0, number, sender};
      child.state.start(problem_, number, sender);
      // With many tasks the bounds of one state's children can take seconds.
      child.bound = limits_.exceeded(0) ? bound : lower_bound(child.state, problem_).value;
      if (child.bound < best_.makespan) branches.push_back(std::move(child));
    });
    std::stable_sort(branches.begin(), branches.end(), [](const Child& a, const Child& b) {
      return std::tie(a.bound, a.state.now) < std::tie(b.bound, b.state.now);
    });
    return branches;
  }

  template <typename Visit>
  void for_each_start(const PartialSchedule& state, Visit visit) const {
    for (std::size_t number = 0; number < problem_.classes.size(); ++number) {
      if (state.remaining[number] == 0) continue;
      for (const std::size_t sender : problem_.classes[number].senders) {
        visit(number, sender, state.earliest_start(problem_.classes[number], sender));
      }
    }
  }

  const UnitTasks& tasks_;
  const SchedulingProblem& problem_;
  TaskSchedule best_;
  const std::int64_t target_;
  const Limits& limits_;
  ScheduleSearchProgress& progress_;
  DominanceTable table_;
  StartSequence sequence_;
  bool stopped_ = false;
  std::int64_t open_bound_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace

ExactSchedule exact_schedule(const UnitTasks& tasks, const SchedulingProblem& problem,
                             std::uint64_t seed, const Limits& limits,
                             ScheduleSearchProgress& progress) {
  const LowerBound bound = lower_bound(PartialSchedule(problem), problem);
  ExactSchedule answer{heuristic_schedule(tasks, problem, bound.value, seed, limits), bound,
                       bound.value, 0};
  if (!answer.optimal()) {
    Search search(tasks, problem, std::move(answer.schedule), bound.value, limits, progress);
    search.run();
    answer.schedule = std::move(search.best());
    answer.lower_bound = std::max(bound.value, search.proven());
    answer.states = progress.states;
  }
  const auto violation = find_violation(answer.schedule, tasks);
  invariant(!violation, "branch and bound returned an infeasible schedule");
  return answer;
}

}  // namespace p2
