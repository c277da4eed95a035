#include <algorithm>
#include <chrono>
#include <random>

#include <doctest/doctest.h>

#include "engine/reshard/scheduling.h"
#include "engine/reshard/sharding.h"
#include "proofs/kernel/certificate.h"
#include "tests/reshard/instances.h"
#include "tests/shared_data.h"

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
    CHECK(!find_violation(answer.schedule, row.tasks));
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
      CHECK(!find_violation(schedule, tasks));
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
    CHECK(!find_violation(stopped.schedule, tasks));
    CHECK(stopped.lower_bound <= best);
    CHECK(stopped.schedule.makespan >= best);
    if (!stopped.optimal()) ++gaps;
  }
  CHECK(gaps > 0);
}

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
  CHECK(!find_violation(good, tasks));
  const auto mistake = [&](TaskSchedule schedule) {
    return find_violation(schedule, tasks).value_or("");
  };
  CHECK(mistake({{{0, 2, 0}, {1, 0, 2}, {2, 1, 2}}, 5}) == "host 2 does not hold task 0");
  CHECK(mistake({{{0, 1, 0}, {1, 0, 1}, {2, 1, 2}}, 5}) == "tasks 0 and 1 overlap");
  CHECK(mistake({{{0, 1, 0}, {1, 0, 2}, {2, 1, 1}}, 5}) == "tasks 0 and 2 overlap");
  CHECK(mistake({{{0, 1, 0}, {1, 0, 2}, {1, 0, 5}}, 8}) == "duplicate task 1");
  CHECK(mistake({{{0, 1, 0}, {1, 0, 2}}, 5}) == "a task does not run");
  CHECK(mistake({{{0, 1, 0}, {1, 0, 2}, {2, 1, 2}}, 4}) == "the makespan is not the last end");
  CHECK(mistake({{{0, 1, -1}, {1, 0, 2}, {2, 1, 2}}, 5}) == "task 0 starts before time 0");
}

namespace {

std::vector<std::uint32_t> some_hosts(std::mt19937_64& random, std::uint32_t hosts,
                                      std::size_t most) {
  std::vector<std::uint32_t> chosen;
  for (std::size_t left = 1 + random() % most; left > 0; --left) {
    const auto host = static_cast<std::uint32_t>(random() % hosts);
    if (std::count(chosen.begin(), chosen.end(), host) == 0) chosen.push_back(host);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

/// Tasks over some hosts, each at no more than `most` senders and for no more than `most`
/// receivers.
UnitTasks many_tasks(std::uint64_t seed, std::size_t count, std::uint64_t longest,
                     std::uint32_t hosts = 16, std::size_t most = 3) {
  std::mt19937_64 random(seed);
  UnitTasks tasks;
  for (std::size_t i = 0; i < count; ++i) {
    const auto size = static_cast<std::int64_t>(1 + random() % longest);
    auto senders = some_hosts(random, hosts, most);
    tasks.push_back({size, std::move(senders), some_hosts(random, hosts, most)});
  }
  return tasks;
}

}  // namespace

TEST_CASE("200 tasks over 16 hosts: no more than 2 % above what is proven") {
  for (const std::uint64_t longest : {1, 5, 100}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const UnitTasks tasks = many_tasks(seed, 200, longest);
      Limits limits;
      limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      const ExactSchedule answer = solve(tasks, limits);
      CHECK(!find_violation(answer.schedule, tasks));
      CHECK(answer.schedule.makespan * 100 <= answer.lower_bound * 102);
    }
  }
}

TEST_CASE("many tasks with up to four senders and receivers: annealing alone comes close") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const UnitTasks tasks = many_tasks(seed, 60, 100, 12, 4);
    const SchedulingProblem problem(tasks);
    const std::int64_t bound = lower_bound(PartialSchedule(problem), problem).value;
    const TaskSchedule first = naive_schedule(tasks);
    const TaskSchedule found = insertion_search(tasks, problem, first, bound, 1, {});
    CHECK(!find_violation(found, tasks));
    CHECK(found.makespan >= bound);
    CHECK(found.makespan * 100 <= bound * 102);
    CHECK(first.makespan * 100 > bound * 150);
  }
}

TEST_CASE("of 200 tasks over 16 hosts p2-check accepts the bound, whatever the schedule") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const UnitTasks tasks = many_tasks(seed, 200, seed % 2 == 0 ? 100 : 1000, 16, 4);
    const kernel::Result result = check_certificate(gap_certificate(tasks, naive_schedule(tasks)));
    CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
  }
}

TEST_CASE("neither of the searches before branch and bound makes a schedule longer") {
  std::mt19937_64 random(13);
  int shorter_by_beam = 0;
  int shorter_by_insertion = 0;
  for (int i = 0; i < 200; ++i) {
    const UnitTasks tasks = random_tasks(random, 12);
    const SchedulingProblem problem(tasks);
    const TaskSchedule first = naive_schedule(tasks);
    const std::int64_t bound = lower_bound(PartialSchedule(problem), problem).value;
    const StartSequence sequence = beam_search(problem, first.makespan, bound, {});
    if (!sequence.empty()) {
      const TaskSchedule found = to_schedule(tasks, problem, sequence);
      CHECK(!find_violation(found, tasks));
      CHECK(found.makespan < first.makespan);
      CHECK(found.makespan >= bound);
      ++shorter_by_beam;
    }
    const TaskSchedule inserted = insertion_search(tasks, problem, first, bound, 1, {});
    CHECK(!find_violation(inserted, tasks));
    CHECK(inserted.makespan <= first.makespan);
    CHECK(inserted.makespan >= bound);
    CHECK(insertion_search(tasks, problem, first, bound, 1, {}).runs == inserted.runs);
    shorter_by_insertion += inserted.makespan < first.makespan;
  }
  CHECK(shorter_by_beam > 50);
  CHECK(shorter_by_insertion > 50);
}

using nlohmann::json;

namespace {

/// "S0 R R" on [2, 4] as `2x4:S0,R,R`.
Sharding sharding_of(const json& mesh, std::string spec) {
  std::replace(spec.begin(), spec.end(), ' ', ',');
  return parse_sharding("spec", mesh[0].dump() + "x" + mesh[1].dump() + ":" + spec, 3);
}

}  // namespace

TEST_CASE("random sets of tasks have the optima that another exact search found") {
  const auto points = shared_data("reshard/random_tasks.json");
  if (!points) return;
  REQUIRE(!(*points)["instances"].empty());
  for (const json& instance : (*points)["instances"]) {
    const UnitTasks tasks = read_tasks("instance", json{{"tasks", instance["tasks"]}}.dump());
    ScheduleSearchProgress progress;
    const ExactSchedule answer = exact_schedule(tasks, SchedulingProblem(tasks), 1, {}, progress);
    CHECK(answer.optimal());
    CHECK(answer.schedule.makespan == instance["optimum"]);
  }
}

TEST_CASE("the cases of table 2, both ways to decompose, have the optima of another exact search") {
  const auto table = shared_data("reshard/table2.json");
  if (!table) return;
  REQUIRE(!(*table)["cases"].empty());
  const auto given = (*table)["shape"].get<TensorShape>();
  for (const json& each : (*table)["cases"]) {
    CAPTURE(each.dump());
    const Sharding from = sharding_of(each["send_mesh"], each["send_spec"]);
    const Sharding to = sharding_of(each["recv_mesh"], each["recv_spec"]);
    const TensorShape shape = padded(given, from, to, "shape");
    CHECK(shape == each["padded_shape"].get<TensorShape>());
    const UnitTasks tasks = decompose(
        shape, from, to,
        each["mode"] == "intersection" ? Decomposition::Intersection : Decomposition::Source,
        "shape");
    CHECK(tasks.size() == each["n_tasks"]);
    ScheduleSearchProgress progress;
    const ExactSchedule answer = exact_schedule(tasks, SchedulingProblem(tasks), 1, {}, progress);
    CHECK(answer.optimal());
    CHECK(answer.schedule.makespan == each["optimum"]);
  }
}
