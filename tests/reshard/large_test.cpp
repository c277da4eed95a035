#include <doctest/doctest.h>

#include <algorithm>

#include "engine/reshard/beam_search.h"
#include "engine/reshard/insertion_search.h"
#include "engine/reshard/strategies.h"
#include "proofs/kernel/certificate.h"
#include "tests/reshard/schedule_certificates.h"

using namespace p2;

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
      CHECK(!mistake_in(answer.schedule, tasks));
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
    CHECK(!mistake_in(found, tasks));
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
      CHECK(!mistake_in(found, tasks));
      CHECK(found.makespan < first.makespan);
      CHECK(found.makespan >= bound);
      ++shorter_by_beam;
    }
    const TaskSchedule inserted = insertion_search(tasks, problem, first, bound, 1, {});
    CHECK(!mistake_in(inserted, tasks));
    CHECK(inserted.makespan <= first.makespan);
    CHECK(inserted.makespan >= bound);
    CHECK(insertion_search(tasks, problem, first, bound, 1, {}).runs == inserted.runs);
    shorter_by_insertion += inserted.makespan < first.makespan;
  }
  CHECK(shorter_by_beam > 50);
  CHECK(shorter_by_insertion > 50);
}
