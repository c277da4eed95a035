#include <algorithm>
#include <numeric>
#include <set>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/input.h"

namespace p2::kernel {
namespace {

using Time = std::uint64_t;

constexpr Time kTimeEnd = Time{1} << 42U;  // a file has fewer than 2^21 tasks: no sum overflows
constexpr std::uint32_t kHostsEnd = 1024;

struct Task {
  Time size = 0;
  Numbers senders, receivers;
  bool operator==(const Task&) const = default;
};
using Tasks = std::vector<Task>;

Time as_time(const Json& value) {
  as_number(value, kTimeEnd);
  return value.get<Time>();
}

bool meet(const Numbers& a, const Numbers& b) {
  return std::ranges::any_of(a, [&](auto host) { return std::ranges::binary_search(b, host); });
}

/// Rejects unless every task has one of its senders, no host sends or receives two at once, and all
/// end by the makespan.
Tasks read_schedule(const Json& list, Time makespan) {
  Tasks tasks;
  std::vector<std::tuple<std::uint32_t, Time, Time>> uses;  // senders, and receivers after them
  for (const Json& item : as_list(list)) {
    expect_keys(item, {"size", "sender_hosts", "receiver_hosts", "sender", "start"});
    tasks.push_back({as_time(item["size"]), as_ascending(item["sender_hosts"], kHostsEnd),
                     as_ascending(item["receiver_hosts"], kHostsEnd)});
    const auto& [size, senders, receivers] = tasks.back();
    const std::uint32_t sender = as_number(item["sender"], kHostsEnd);
    const Time start = as_time(item["start"]);
    if (start + size > makespan) reject("a task ends after the makespan");
    if (!meet({sender}, senders)) reject("the sender is not one of the task's");
    uses.emplace_back(sender, start, start + size);
    for (const auto host : receivers) uses.emplace_back(kHostsEnd + host, start, start + size);
  }
  std::ranges::sort(uses);
  const auto overlap = [](const auto& a, const auto& b) {
    return std::get<0>(a) == std::get<0>(b) && std::get<1>(b) < std::get<2>(a);
  };
  if (std::ranges::adjacent_find(uses, overlap) != uses.end())
    reject("two transfers overlap on a host");
  return tasks;
}

/// `3 from 0,1 to 2; …`: sizes, and hosts.
std::string to_text(const Tasks& tasks) {
  const auto hosts = [](const Numbers& list) {
    std::string text;
    for (const std::uint32_t host : list) text += (text.empty() ? "" : ",") + std::to_string(host);
    return text;
  };
  std::string text;
  for (const Task& task : tasks) {
    text += (text.empty() ? "" : "; ") + std::to_string(task.size) + " from " +
            hosts(task.senders) + " to " + hosts(task.receivers);
  }
  return text;
}

/// What the tasks `some` take one after the other. Objects if two of them could run at once.
Time serial_bound(const Tasks& tasks, const Numbers& some, Budget& budget) {
  Time total = 0;
  for (const std::uint32_t i : some) {
    total += tasks[i].size;
    for (const std::uint32_t j : some) {
      budget.spend(8 + tasks[i].receivers.size() + 1);
      const bool one_sender = tasks[i].senders.size() == 1 && tasks[i].senders == tasks[j].senders;
      if (!one_sender && !meet(tasks[i].receivers, tasks[j].receivers))
        reject("two tasks can run at once");
    }
  }
  return total;
}

/// One of n senders sends no less than the average of m tasks, and ⌈m/n⌉ of them: the shortest.
Time pool_bound(const Tasks& tasks, const Numbers& some, const Numbers& senders) {
  std::vector<Time> sums = {0};
  for (const std::uint32_t i : some) {
    if (!std::ranges::includes(senders, tasks[i].senders))
      reject("a task has a sender outside the set");
    sums.push_back(tasks[i].size);
  }
  std::ranges::sort(sums);
  std::partial_sum(sums.begin(), sums.end(), sums.begin());
  const auto share = [&](Time all) { return (all + senders.size() - 1) / senders.size(); };
  return std::max(share(sums.back()), sums[share(some.size())]);
}

/// Hands out the clauses of docs/certificates.md, of which all schedules that are shorter than
/// `makespan` are models.
struct ShorterSchedule {
  const Tasks& tasks;
  const Time makespan;
  const std::function<void(const Clause&)> add;
  std::int32_t variables = 2;      // 1 is true and 2 is false
  std::vector<Time> points = {};   // when a task may start
  std::vector<Clause> later = {};  // by task and point: it starts then or later
  std::vector<Clause> sent = {};   // by task and sender

  /// Tasks that start as early as they can start at the end of others, hence at sums of sizes.
  void find_points(Budget& budget) {
    std::set<Time> sums = {0};
    for (const Task& task : tasks) {
      budget.spend(32 * sums.size());
      for (const Time sum : std::set(sums)) {
        if (sum + task.size < makespan) sums.insert(sum + task.size);
      }
    }
    points.assign(sums.begin(), sums.end());
  }

  void encode(Budget& budget) {
    find_points(budget);
    add({1});
    add({-2});
    for (const Task& task : tasks) {
      Clause& starts = later.emplace_back(Clause{1});
      if (task.size >= makespan) add({2});
      for (std::size_t k = 1; k < points.size() && points[k] + task.size < makespan; ++k) {
        starts.push_back(++variables);
        add({-starts[k], starts[k - 1]});
      }
      Clause& senders = sent.emplace_back();
      while (senders.size() < task.senders.size()) senders.push_back(++variables);
      add(senders);
    }
    for (std::size_t j = 0; j < tasks.size(); ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        budget.spend(8 + tasks[i].receivers.size() +
                     tasks[i].senders.size() * tasks[j].senders.size());
        keep_apart(i, j);
      }
    }
  }

  void keep_apart(std::size_t i, std::size_t j) {
    const Task& a = tasks[i];
    const Task& b = tasks[j];
    if (meet(a.receivers, b.receivers)) {
      order(i, j, {});
      if (a == b) add({variables});  // of equal tasks the first goes first
      return;
    }
    for (std::size_t s = 0; s < a.senders.size(); ++s) {
      for (std::size_t t = 0; t < b.senders.size(); ++t) {
        if (a.senders[s] == b.senders[t]) order(i, j, {-sent[i][s], -sent[j][t]});
      }
    }
  }

  /// Unless one of the literals holds, i ends before j starts or j before i.
  void order(std::size_t i, std::size_t j, const Clause& unless) {
    ++variables;
    for (const auto& [a, b, other] : {std::tuple(i, j, -variables), std::tuple(j, i, variables)}) {
      for (std::size_t k = 0; k < later[a].size(); ++k) {
        const auto next = std::ranges::lower_bound(points, points[k] + tasks[a].size);
        const auto at = static_cast<std::size_t>(next - points.begin());
        Clause clause = {other, -later[a][k], at < later[b].size() ? later[b][at] : 2};
        clause.insert(clause.end(), unless.begin(), unless.end());
        add(clause);
      }
    }
  }
};

}  // namespace

std::string judge_schedule(const std::string& claim, const Json& statement, const Files& files) {
  Budget budget;
  const bool gap = claim == "reshard-schedule-gap";
  const Json& schedule = statement["schedule.json"];
  expect_keys(schedule, {"tasks", "makespan"});
  const Time makespan = as_time(schedule["makespan"]);
  const Tasks tasks = read_schedule(schedule["tasks"], makespan);
  Time least = makespan;
  if (files.contains("bound.json")) {
    const Json bound = parse_json(files, "bound.json");
    std::vector<std::string> keys = {"tasks", "senders"};
    if (gap) keys.emplace_back("least");
    expect_keys(bound, keys);
    if (gap) least = as_time(bound["least"]);
    const Numbers some = as_ascending(bound["tasks"], tasks.size());
    const bool none = as_list(bound["senders"]).empty();
    const Numbers senders = none ? Numbers() : as_ascending(bound["senders"], kHostsEnd);
    const Time shown =
        senders.empty() ? serial_bound(tasks, some, budget) : pool_bound(tasks, some, senders);
    if (shown < least) reject("the bound is only " + std::to_string(shown));
  } else {
    const auto encode = [&](const std::function<void(const Clause&)>& sink) {
      ShorterSchedule shorter{tasks, makespan, sink};
      shorter.encode(budget);
      return shorter.variables;
    };
    check_refutation(files, encode, budget);
  }
  return "no schedule of the " + counted(tasks.size(), "task") + " is shorter than " +
         std::to_string(least) + ", this one takes " + std::to_string(makespan) + " (" +
         shortened(to_text(tasks)) + ")";
}

}  // namespace p2::kernel
