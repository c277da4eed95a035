#include <doctest/doctest.h>

#include "encodings/cnf/shorter_schedule.h"
#include "proofs/kernel/certificate.h"
#include "tests/reshard/schedule_certificates.h"

using namespace p2;
using kernel::Verdict;
using Kind = cnf::ShorterSchedule::Kind;

TEST_CASE("p2-check accepts the certificates of random tasks, by bounds and by clauses") {
  std::mt19937_64 random(31);
  int searched = 0;
  for (int i = 0; i < 400; ++i) {
    const UnitTasks tasks = random_tasks(random, 9);
    const CertificateFiles files = certificate(tasks);
    const kernel::Result result = check_certificate(files);
    CHECK_MESSAGE(result.verdict == Verdict::Accepted, result.reason);
    if (!files.contains("bound.json")) ++searched;
  }
  CHECK(searched > 0);
}

TEST_CASE("clauses say the same as the search, also where a bound would do") {
  std::mt19937_64 random(32);
  for (int i = 0; i < 300; ++i) {
    const UnitTasks tasks = random_tasks(random, 7);
    const TaskSchedule best = solve(tasks).schedule;
    const kernel::Result result = check_certificate(by_clauses(tasks, best));
    CHECK_MESSAGE(result.verdict == Verdict::Accepted, result.reason);
    CHECK(cnf::shorter_schedule(tasks, best.makespan + 1, {}).kind == Kind::Exists);
  }
}

TEST_CASE("the example of docs/certificates.md is accepted") {
  CertificateFiles files = {
      {"schedule.json",
       R"({"tasks":[{"size":3,"sender_hosts":[0,1],"receiver_hosts":[0],"sender":0,"start":0},
                    {"size":2,"sender_hosts":[0,1],"receiver_hosts":[1],"sender":1,"start":0},
                    {"size":2,"sender_hosts":[0,1],"receiver_hosts":[2],"sender":1,"start":2}],
           "makespan":4})"},
      {"bound.json", R"({"tasks":[0,1,2],"senders":[0,1]})"}};
  add_manifest("reshard-schedule", {}, files);
  const kernel::Result result = check_certificate(files);
  CHECK(result.reason == "no schedule of the 3 tasks is shorter than 4");
}
