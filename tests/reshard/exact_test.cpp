#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include "engine/reshard/exact_search.h"
#include "engine/reshard/strategies.h"

using namespace p2;

namespace {

ExactSchedule solve(const UnitTasks& tasks, const Limits& limits = {}) {
  ScheduleSearchProgress progress;
  return exact_schedule(tasks, SchedulingProblem(tasks), 1, limits, progress);
}

/// The next choice of senders, as one counts; false after the last.
bool next_choice(const UnitTasks& tasks, std::vector<std::size_t>& choice) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (++choice[i] < tasks[i].sender_hosts.size()) return true;
    choice[i] = 0;
  }
  return false;
}

/// Every order with every choice of senders.
std::int64_t brute_force(const UnitTasks& tasks) {
  std::int64_t best = INT64_MAX;
  std::vector<std::size_t> choice(tasks.size());
  do {
    std::vector<std::uint32_t> senders;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      senders.push_back(tasks[i].sender_hosts[choice[i]]);
    }
    std::vector<std::size_t> order(tasks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      best = std::min(best, schedule_in_order(tasks, order, senders).makespan);
    } while (std::next_permutation(order.begin(), order.end()));
  } while (next_choice(tasks, choice));
  return best;
}

std::vector<std::uint32_t> random_hosts(std::mt19937_64& random, std::uint32_t hosts) {
  std::vector<std::uint32_t> chosen;
  while (chosen.empty()) {
    for (std::uint32_t host = 0; host < hosts; ++host) {
      if (random() % 5 < 2) chosen.push_back(host);
    }
  }
  return chosen;
}

UnitTasks random_tasks(std::mt19937_64& random, std::size_t most) {
  const auto hosts = static_cast<std::uint32_t>(2 + random() % 3);
  const std::uint64_t longest = 1 + random() % 6;
  UnitTasks tasks;
  for (std::size_t count = 2 + random() % (most - 1); count > 0; --count) {
    const auto size = static_cast<std::int64_t>(1 + random() % longest);
    auto senders = random_hosts(random, hosts);
    tasks.push_back({size, std::move(senders), random_hosts(random, hosts)});
  }
  return tasks;
}

}  // namespace

TEST_CASE("the shortest schedules, worked out by hand") {
  struct Row {
    UnitTasks tasks;
    std::int64_t makespan;
  };
  const Row rows[] = {
      {{{7, {0}, {0}}}, 7},
      // Sending and receiving are apart: host 0 does both at once.
      {{{7, {0}, {1}}, {7, {1}, {0}}}, 7},
      {{{4, {0}, {0}}, {4, {0}, {1}}, {4, {1}, {0}}, {4, {1}, {1}}}, 8},
      // Each pair shares a receiver, though no host receives all three.
      {{{2, {0}, {0, 1}}, {2, {1}, {1, 2}}, {2, {2}, {0, 2}}}, 6},
      // Two senders for three equal tasks.
      {{{3, {0, 1}, {0}}, {3, {0, 1}, {1}}, {3, {0, 1}, {2}}}, 6},
  };
  for (const Row& row : rows) {
    const ExactSchedule answer = solve(row.tasks);
    CHECK(answer.schedule.makespan == row.makespan);
    CHECK(answer.optimal());
    CHECK(!mistake_in(answer.schedule, row.tasks));
  }
}

TEST_CASE("no order of tasks with any senders is shorter than what is called optimal") {
  std::mt19937_64 random(20221);
  for (int i = 0; i < 1000; ++i) {
    const UnitTasks tasks = random_tasks(random, 6);
    const ExactSchedule answer = solve(tasks);
    const std::int64_t best = brute_force(tasks);
    REQUIRE(answer.optimal());
    REQUIRE(answer.schedule.makespan == best);
    REQUIRE(answer.bound.value <= best);
  }
}

TEST_CASE("the same where heuristics and bounds do not settle it") {
  std::mt19937_64 random(77);
  int searched = 0;
  while (searched < 150) {
    const UnitTasks tasks = random_tasks(random, 7);
    const ExactSchedule answer = solve(tasks);
    if (answer.states == 0) continue;
    ++searched;
    REQUIRE(answer.optimal());
    REQUIRE(answer.schedule.makespan == brute_force(tasks));
  }
}

TEST_CASE("the baselines are schedules and never beat the optimum") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {
    const UnitTasks tasks = random_tasks(random, 10);
    const std::int64_t best = solve(tasks).schedule.makespan;
    for (const TaskSchedule& schedule :
         {naive_schedule(tasks), load_balanced_schedule(tasks), greedy_schedule(tasks, 3)}) {
      CHECK(!mistake_in(schedule, tasks));
      CHECK(schedule.makespan >= best);
    }
  }
}

TEST_CASE("names of hosts and the order of tasks do not change the optimum") {
  std::mt19937_64 random(11);
  for (int i = 0; i < 200; ++i) {
    UnitTasks tasks = random_tasks(random, 8);
    const std::int64_t best = solve(tasks).schedule.makespan;
    std::reverse(tasks.begin(), tasks.end());
    for (UnitTask& task : tasks) {
      for (auto* hosts : {&task.sender_hosts, &task.receiver_hosts}) {
        for (std::uint32_t& host : *hosts) host = 9 - host;
        std::reverse(hosts->begin(), hosts->end());
      }
    }
    CHECK(solve(tasks).schedule.makespan == best);
  }
}

TEST_CASE("a search that is stopped keeps a schedule and a bound that hold") {
  std::mt19937_64 random(9);
  Limits over;
  over.deadline = std::chrono::steady_clock::now();
  int gaps = 0;
  for (int i = 0; i < 300; ++i) {
    const UnitTasks tasks = random_tasks(random, 9);
    const std::int64_t best = solve(tasks).schedule.makespan;
    const ExactSchedule stopped = solve(tasks, over);
    CHECK(!mistake_in(stopped.schedule, tasks));
    CHECK(stopped.lower_bound <= best);
    CHECK(stopped.schedule.makespan >= best);
    if (!stopped.optimal()) ++gaps;
  }
  CHECK(gaps > 0);
}
