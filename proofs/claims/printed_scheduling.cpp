#include "proofs/claims/printed_scheduling.h"

#include <algorithm>

namespace p2::claims {
namespace {

constexpr std::size_t kMostHosts = 8;

struct Times {
  std::int64_t sends[kMostHosts] = {};
  std::int64_t receives[kMostHosts] = {};

  std::int64_t latest() const {
    return std::max(*std::max_element(std::begin(sends), std::end(sends)),
                    *std::max_element(std::begin(receives), std::end(receives)));
  }
};

/// The tasks of a set as bits.
using Set = std::uint32_t;

Set all_of(const UnitTasks& tasks) { return (Set{1} << tasks.size()) - 1; }

template <typename Visit>
void for_each(const UnitTasks& tasks, Set set, Visit visit) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if ((set >> i & 1U) != 0) visit(i);
  }
}

std::int64_t least_load(const UnitTasks& tasks, std::size_t next, Times& times) {
  if (next == tasks.size()) return times.latest();
  std::int64_t least = INT64_MAX;
  for (const std::uint32_t sender : tasks[next].sender_hosts) {
    times.sends[sender] += tasks[next].size;
    least = std::min(least, least_load(tasks, next + 1, times));
    times.sends[sender] -= tasks[next].size;
  }
  return least;
}

/// The largest load after the greedy gave out what is left on top of `sends`, with the best ties.
std::int64_t greedy_load(const UnitTasks& tasks, Set left, Times& times) {
  if (left == 0) return *std::max_element(std::begin(times.sends), std::end(times.sends));
  std::int64_t longest = 0;
  for_each(tasks, left, [&](std::size_t i) { longest = std::max(longest, tasks[i].size); });
  std::int64_t best = INT64_MAX;
  for_each(tasks, left, [&](std::size_t i) {
    if (tasks[i].size < longest) return;
    std::int64_t lightest = INT64_MAX;
    for (const auto sender : tasks[i].sender_hosts) {
      lightest = std::min(lightest, times.sends[sender]);
    }
    for (const auto sender : tasks[i].sender_hosts) {
      if (times.sends[sender] > lightest) continue;
      times.sends[sender] += longest;
      best = std::min(best, greedy_load(tasks, left & ~(Set{1} << i), times));
      times.sends[sender] -= longest;
    }
  });
  return best;
}

class Search {
 public:
  explicit Search(const UnitTasks& tasks) : tasks_(tasks) {}

  std::pair<std::int64_t, std::int64_t> bound() {
    shortest(all_of(tasks_), {});
    return worst_;
  }

 private:
  Times after(Times times, std::size_t i, std::uint32_t sender) const {
    std::int64_t end = times.sends[sender];
    for (const auto host : tasks_[i].receiver_hosts) end = std::max(end, times.receives[host]);
    end += tasks_[i].size;
    times.sends[sender] = end;
    for (const auto host : tasks_[i].receiver_hosts) times.receives[host] = end;
    return times;
  }

  std::int64_t bound(Set left, Times times) const {
    const std::int64_t sending = greedy_load(tasks_, left, times);
    for_each(tasks_, left, [&](std::size_t i) {
      for (const auto host : tasks_[i].receiver_hosts) times.receives[host] += tasks_[i].size;
    });
    return std::max(sending, times.latest());
  }

  /// The shortest completion; notes where the bound is above it.
  std::int64_t shortest(Set left, const Times& times) {
    std::int64_t best = left == 0 ? times.latest() : INT64_MAX;
    for_each(tasks_, left, [&](std::size_t i) {
      for (const auto sender : tasks_[i].sender_hosts) {
        best = std::min(best, shortest(left & ~(Set{1} << i), after(times, i, sender)));
      }
    });
    const std::int64_t said = bound(left, times);
    if (said - best > worst_.first - worst_.second) worst_ = {said, best};
    return best;
  }

  const UnitTasks& tasks_;
  std::pair<std::int64_t, std::int64_t> worst_;
};

}  // namespace

std::int64_t least_load(const UnitTasks& tasks) {
  Times times;
  return least_load(tasks, 0, times);
}

std::int64_t greedy_load(const UnitTasks& tasks) {
  Times times;
  return greedy_load(tasks, all_of(tasks), times);
}

std::int64_t receiver_load(const UnitTasks& tasks) {
  Times times;
  for (const UnitTask& task : tasks) {
    for (const auto host : task.receiver_hosts) times.receives[host] += task.size;
  }
  return times.latest();
}

std::pair<std::int64_t, std::int64_t> depth_first_bound(const UnitTasks& tasks) {
  return Search(tasks).bound();
}

}  // namespace p2::claims
