#include <doctest/doctest.h>

#include "engine/reshard/strategies.h"

using namespace p2;

TEST_CASE("the baselines, worked out by hand") {
  // Two slices that both senders hold, one for each receiver.
  const UnitTasks copies{{4, {0, 1}, {0}}, {4, {0, 1}, {1}}};
  CHECK(naive_schedule(copies).makespan == 8);
  CHECK(load_balanced_schedule(copies).makespan == 4);
  CHECK(greedy_schedule(copies, 1).makespan == 4);

  // A balanced load is not a schedule: both receivers take from sender 0 first.
  const UnitTasks crossed{{4, {0}, {0}}, {4, {0}, {1}}, {4, {1}, {0}}, {4, {1}, {1}}};
  CHECK(naive_schedule(crossed).makespan == 12);
  CHECK(load_balanced_schedule(crossed).makespan == 12);
  CHECK(greedy_schedule(crossed, 1).makespan == 8);

  // Longest first: 5 to host 0, 4 and 3 to host 1, 3 to host 0.
  const UnitTasks four{{3, {0, 1}, {0}}, {5, {0, 1}, {1}}, {3, {0, 1}, {2}}, {4, {0, 1}, {3}}};
  const TaskSchedule balanced = load_balanced_schedule(four);
  CHECK(balanced.makespan == 8);
  CHECK(balanced.runs == std::vector<TaskRun>{{1, 0, 0}, {3, 1, 0}, {0, 1, 4}, {2, 0, 5}});
}

TEST_CASE("the same seed gives the same greedy schedule") {
  const UnitTasks tasks{{3, {0, 1}, {0, 1}}, {5, {0, 1}, {1}}, {3, {0, 2}, {2}}, {4, {1}, {0, 2}}};
  CHECK(greedy_schedule(tasks, 7).runs == greedy_schedule(tasks, 7).runs);
}

TEST_CASE("what is wrong with a schedule is found") {
  const UnitTasks tasks{{2, {0, 1}, {0}}, {3, {0}, {0, 1}}, {1, {1}, {2}}};
  const TaskSchedule good{{{0, 1, 0}, {1, 0, 2}, {2, 1, 2}}, 5};
  CHECK(!mistake_in(good, tasks));
  const auto mistake = [&](TaskSchedule schedule) {
    return mistake_in(schedule, tasks).value_or("");
  };
  CHECK(mistake({{{0, 2, 0}, {1, 0, 2}, {2, 1, 2}}, 5}) == "host 2 does not hold task 0");
  CHECK(mistake({{{0, 1, 0}, {1, 0, 1}, {2, 1, 2}}, 5}) == "tasks 0 and 1 overlap");
  CHECK(mistake({{{0, 1, 0}, {1, 0, 2}, {2, 1, 1}}, 5}) == "tasks 0 and 2 overlap");
  CHECK(mistake({{{0, 1, 0}, {1, 0, 2}, {1, 0, 5}}, 8}) == "task 1 again");
  CHECK(mistake({{{0, 1, 0}, {1, 0, 2}}, 5}) == "a task does not run");
  CHECK(mistake({{{0, 1, 0}, {1, 0, 2}, {2, 1, 2}}, 4}) == "the makespan is not the last end");
  CHECK(mistake({{{0, 1, -1}, {1, 0, 2}, {2, 1, 2}}, 5}) == "task 0 starts before time 0");
}
