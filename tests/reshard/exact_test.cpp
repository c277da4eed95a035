#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "engine/reshard/strategies.h"
#include "tests/reshard/instances.h"

using namespace p2;

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
      // Of the three longest, 5, 4 and 3, one sender has two.
      {{{5, {0, 1}, {0}}, {4, {0, 1}, {1}}, {3, {0, 1}, {2}}, {1, {0, 1}, {3}}}, 7},
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
