// Section 3.2 of "On Optimizing the Communication of Model Parallelism" (MLSys 2023): the greedy
// load balancing, the bound of its depth-first search and the simple lower bound, settled on all
// small sets of unit tasks.
#include "proofs/claims/statements.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/reshard/scheduling.h"
#include "proofs/claims/claim.h"

namespace p2::claims {
namespace {

std::vector<std::uint32_t> hosts_in(std::uint32_t mask) {
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t host = 0; mask >> host != 0; ++host) {
    if ((mask >> host & 1U) != 0) hosts.push_back(host);
  }
  return hosts;
}

class Enumeration {
 public:
  Enumeration(const TaskSetSize& size, const std::function<bool(const UnitTasks&)>& visit)
      : size_(size),
        kinds_(((1U << size.senders) - 1) * ((1U << size.receivers) - 1)),
        visit_(visit) {}

  /// Adds tasks of size at most `longest`; among equal sizes, kinds ascend from `kind`.
  bool extend(std::int64_t left, std::int64_t longest, std::uint32_t kind) {
    const auto missing = static_cast<std::int64_t>(size_.tasks - tasks_.size());
    if (missing == 0) return left != 0 || visit_(tasks_);
    for (std::int64_t size = std::min(longest, left - (missing - 1)); size * missing >= left;
         --size) {
      for (std::uint32_t k = size == longest ? kind : 0; k < kinds_; ++k) {
        const std::uint32_t senders = k % ((1U << size_.senders) - 1) + 1;
        const std::uint32_t receivers = k / ((1U << size_.senders) - 1) + 1;
        tasks_.push_back({size, hosts_in(senders), hosts_in(receivers)});
        const bool more = extend(left - size, size, k);
        tasks_.pop_back();
        if (!more) return false;
      }
    }
    return true;
  }

 private:
  const TaskSetSize size_;
  const std::uint32_t kinds_;
  const std::function<bool(const UnitTasks&)>& visit_;
  UnitTasks tasks_;
};

}  // namespace

bool for_each_task_set(const TaskSetSize& size, std::int64_t longest,
                       const std::function<bool(const UnitTasks&)>& visit) {
  return Enumeration(size, visit).extend(size.total, longest, 0);
}

namespace {

constexpr std::size_t kMaxHosts = 8;

struct Times {
  std::int64_t sends[kMaxHosts] = {};
  std::int64_t receives[kMaxHosts] = {};

  std::int64_t latest() const {
    return std::max(*std::max_element(std::begin(sends), std::end(sends)),
                    *std::max_element(std::begin(receives), std::end(receives)));
  }
};

/// A set of tasks as bits.
using Set = std::uint32_t;

Set all_of(const UnitTasks& tasks) { return (Set{1} << tasks.size()) - 1; }

template <typename Visit>
void for_each(const UnitTasks& tasks, Set set, Visit visit) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if ((set >> i & 1U) != 0) visit(i);
  }
}

std::int64_t add_least_load(const UnitTasks& tasks, std::size_t next, Times& times) {
  if (next == tasks.size()) return times.latest();
  std::int64_t least = INT64_MAX;
  for (const std::uint32_t sender : tasks[next].sender_hosts) {
    times.sends[sender] += tasks[next].size;
    least = std::min(least, add_least_load(tasks, next + 1, times));
    times.sends[sender] -= tasks[next].size;
  }
  return least;
}

/// The maximum load after the greedy rule adds the remaining tasks to `times.sends`; ties are
/// broken optimally.
std::int64_t add_greedy_load(const UnitTasks& tasks, Set left, Times& times) {
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
      best = std::min(best, add_greedy_load(tasks, left & ~(Set{1} << i), times));
      times.sends[sender] -= longest;
    }
  });
  return best;
}

class BranchSearch {
 public:
  explicit BranchSearch(const UnitTasks& tasks) : tasks_(tasks) {}

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
    const std::int64_t sending = add_greedy_load(tasks_, left, times);
    for_each(tasks_, left, [&](std::size_t i) {
      for (const auto host : tasks_[i].receiver_hosts) times.receives[host] += tasks_[i].size;
    });
    return std::max(sending, times.latest());
  }

  /// The least completion time; records where the bound exceeds it most.
  std::int64_t shortest(Set left, const Times& times) {
    std::int64_t best = left == 0 ? times.latest() : INT64_MAX;
    for_each(tasks_, left, [&](std::size_t i) {
      for (const auto sender : tasks_[i].sender_hosts) {
        best = std::min(best, shortest(left & ~(Set{1} << i), after(times, i, sender)));
      }
    });
    const std::int64_t lower = bound(left, times);
    if (lower - best > worst_.first - worst_.second) worst_ = {lower, best};
    return best;
  }

  const UnitTasks& tasks_;
  std::pair<std::int64_t, std::int64_t> worst_;
};

}  // namespace

std::int64_t least_load(const UnitTasks& tasks) {
  Times times;
  return add_least_load(tasks, 0, times);
}

std::int64_t greedy_load(const UnitTasks& tasks) {
  Times times;
  return add_greedy_load(tasks, all_of(tasks), times);
}

std::int64_t receiver_load(const UnitTasks& tasks) {
  Times times;
  for (const UnitTask& task : tasks) {
    for (const auto host : task.receiver_hosts) times.receives[host] += task.size;
  }
  return times.latest();
}

std::pair<std::int64_t, std::int64_t> depth_first_bound(const UnitTasks& tasks) {
  return BranchSearch(tasks).bound();
}

namespace {

/// The sets of tasks that are enumerated.
struct Range {
  std::size_t tasks = 1;
  std::uint32_t senders = 1;
  std::uint32_t receivers = 1;
  std::int64_t longest = 1;
};

/// Why a statement fails for these tasks; empty if it holds.
using FindFault = std::string (*)(const UnitTasks& tasks);

std::string file_of(const UnitTasks& tasks) {
  std::string text;
  for (const UnitTask& task : tasks) {
    text += fmt::format("{}{{\"size\":{},\"sender_hosts\":[{}],\"receiver_hosts\":[{}]}}",
                        text.empty() ? "" : ",\n ", task.size, fmt::join(task.sender_hosts, ","),
                        fmt::join(task.receiver_hosts, ","));
  }
  return "{\"tasks\":[" + text + "]}";
}

/// Fewest tasks first, then fewest hosts, then the least time of all tasks together.
template <typename Visit>
bool for_each_size(const Range& range, Visit visit) {
  for (std::size_t n = 1; n <= range.tasks; ++n) {
    for (std::uint32_t hosts = 2; hosts <= range.senders + range.receivers; ++hosts) {
      for (std::int64_t total = 1; total <= range.longest * static_cast<std::int64_t>(n); ++total) {
        for (std::uint32_t s = 1; s <= std::min(range.senders, hosts - 1); ++s) {
          if (hosts - s > range.receivers) continue;
          if (!visit(TaskSetSize{n, s, hosts - s, total})) return false;
        }
      }
    }
  }
  return true;
}

/// `apart`: every task has a receiver of its own instead, so that only senders matter.
ScheduleSettlement settle(const Range& range, bool apart, FindFault find_fault,
                          const Limits& limits) {
  ScheduleSettlement answer;
  const auto try_tasks = [&](UnitTasks tasks) {
    if (limits.exceeded(0)) return false;
    ++answer.cases;
    for (std::uint32_t i = 0; apart && i < tasks.size(); ++i) tasks[i].receiver_hosts = {i};
    const std::string wrong = find_fault(tasks);
    if (wrong.empty()) return true;
    answer.outcome = Outcome::Refuted;
    answer.counterexample = wrong;
    answer.command = "reshard --tasks FILE";
    answer.tasks = file_of(tasks);
    return false;
  };
  const bool all = for_each_size(range, [&](const TaskSetSize& size) {
    return for_each_task_set(size, range.longest, try_tasks);
  });
  if (all) answer.outcome = Outcome::Established;
  return answer;
}

std::int64_t shortest(const UnitTasks& tasks) {
  ScheduleSearchProgress progress;
  return exact_schedule(tasks, SchedulingProblem(tasks), 1, {}, progress).schedule.makespan;
}

std::string greedy_is_optimal(const UnitTasks& tasks) {
  const std::int64_t least = least_load(tasks);
  const std::int64_t greedy = greedy_load(tasks);
  if (greedy == least) return {};
  return fmt::format("the greedy leaves a sender with {}, the best choice with {}", greedy, least);
}

std::string bound_is_admissible(const UnitTasks& tasks) {
  const auto [bound, completion] = depth_first_bound(tasks);
  if (bound == completion) return {};
  return fmt::format("the bound says {} where all tasks can be done by {}", bound, completion);
}

std::string bound_is_tight(const UnitTasks& tasks) {
  const std::int64_t bound = std::max(least_load(tasks), receiver_load(tasks));
  const std::int64_t best = shortest(tasks);
  if (best == bound) return {};
  return fmt::format(
      "no host must send or receive for more than {}, the shortest schedule takes {}", bound, best);
}

std::string words(const Range& range, bool apart) {
  return fmt::format(
      "up to {} tasks of sizes up to {}, {} senders and {}", range.tasks, range.longest,
      range.senders,
      apart ? "a receiver for each task" : fmt::format("{} receivers", range.receivers));
}

// Receivers do not matter to Eq. 4.
constexpr Range kSending{5, 3, 1, 4};
constexpr Range kBranches{5, 2, 1, 4};
constexpr Range kShared{4, 3, 3, 2};

}  // namespace

void append_claims_about_resharding(std::vector<ScheduleClaim>& claims) {
  const std::string order = "; fewest tasks first, then fewest hosts, then the shortest tasks";
  claims.push_back(
      {"reshard-greedy-optimal",
       "Longest tasks first, each to the one of its senders that has the least to send, the sender "
       "with the most to send has the least possible, however ties are broken.",
       "max load of the greedy = min over senders n* of max over k of sum of T_i with n_i* = k",
       "3.2, Eq. 4", words(kSending, true) + order, "enumeration (explicit)",
       [](const Limits& limits) { return settle(kSending, true, greedy_is_optimal, limits); }});
  claims.push_back(
      {"reshard-dfs-bound",
       "In no branch of the depth-first search is the lower bound, with tasks that are left given "
       "to senders as in Eq. 4, above what the branch can reach.",
       "for all partial schedules P: bound(P) <= min makespan over completions of P", "3.2",
       words(kBranches, true) + order, "enumeration (explicit)",
       [](const Limits& limits) { return settle(kBranches, true, bound_is_admissible, limits); }});
  claims.push_back(
      {"reshard-simple-bound-tight",
       "Some schedule takes no longer than what some receiver must receive, or what some sender "
       "must send if senders are chosen as well as possible (Eq. 4).",
       "min makespan = max(max over receivers of load, Eq. 4)", "3.2, Eq. 4",
       words(kShared, false) + order,
       "enumeration, shortest schedules by branch and bound (explicit)",
       [](const Limits& limits) { return settle(kShared, false, bound_is_tight, limits); }});
}

}  // namespace p2::claims
