#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/reshard/exact_search.h"
#include "proofs/claims/printed_scheduling.h"
#include "proofs/claims/schedule_claim.h"
#include "proofs/claims/small_tasks.h"

namespace p2::claims {
namespace {

/// How far sets of tasks are enumerated.
struct Range {
  std::size_t tasks = 1;
  std::uint32_t senders = 1;
  std::uint32_t receivers = 1;
  std::int64_t longest = 1;
};

/// What is wrong with the statement for these tasks; empty where it holds.
using Judge = std::string (*)(const UnitTasks& tasks);

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

/// `apart`: every task goes to a receiver of its own instead, so that only senders matter.
ScheduleAnswer settle(const Range& range, bool apart, Judge judge, const Limits& limits) {
  ScheduleAnswer answer;
  const auto look = [&](UnitTasks tasks) {
    if (limits.exceeded(0)) return false;
    ++answer.cases;
    for (std::uint32_t i = 0; apart && i < tasks.size(); ++i) tasks[i].receiver_hosts = {i};
    const std::string wrong = judge(tasks);
    if (wrong.empty()) return true;
    answer.verdict = Outcome::Refuted;
    answer.counterexample = wrong;
    answer.command = "reshard --tasks FILE";
    answer.tasks = file_of(tasks);
    return false;
  };
  const bool all = for_each_size(
      range, [&](const TaskSetSize& size) { return for_each_task_set(size, range.longest, look); });
  if (all) answer.verdict = Outcome::Holds;
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
