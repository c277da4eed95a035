#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "proofs/claims/claim.h"
#include "proofs/claims/statements.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

using namespace p2;
using namespace p2::claims;

namespace {

const char* const kRefutedClaims[] = {"reshard-greedy-optimal", "reshard-dfs-bound",
                                      "reshard-simple-bound-tight", "pipeline-eager-hides-always"};
const char* const kHolding[] = {"pipeline-eager-hides",  "pipeline-same-without-latency",
                                "pipeline-peaks",        "pipeline-eager-memory",
                                "pipeline-split-enough", "pipeline-eager-least-memory"};

nlohmann::json tasks_refuting(const char* name) {
  const ScheduleSettlement answer = find_schedule_claim(name)->settle({});
  REQUIRE(answer.outcome == Outcome::Refuted);
  return nlohmann::json::parse(answer.tasks)["tasks"];
}

}  // namespace

TEST_CASE("what the paper says of schedules is refuted, or holds in all cases") {
  for (const char* name : kRefutedClaims) {
    CAPTURE(name);
    const ScheduleSettlement answer = find_schedule_claim(name)->settle({});
    CHECK(answer.outcome == Outcome::Refuted);
    CHECK(!answer.counterexample.empty());
    CHECK(!answer.command.empty());
  }
  for (const char* name : kHolding) {
    CAPTURE(name);
    const ScheduleSettlement answer = find_schedule_claim(name)->settle({});
    CHECK(answer.outcome == Outcome::Established);
    CHECK(answer.cases >= 90);
  }
  CHECK(schedule_registry().size() == std::size(kRefutedClaims) + std::size(kHolding));
}

TEST_CASE("the counterexamples are as small as they are known to be") {
  // Of 3, 3, 2, 2 the last two have one sender, where the greedy puts a 3 as well.
  CHECK(tasks_refuting("reshard-greedy-optimal").size() == 4);
  CHECK(tasks_refuting("reshard-dfs-bound").size() == 3);
  // Three tasks, each pair with a host in common, and no host with all three.
  CHECK(tasks_refuting("reshard-simple-bound-tight").size() == 3);
}

TEST_CASE("what section 3.2 prints, worked out by hand") {
  const UnitTasks tasks{{3, {0, 1}, {0}}, {3, {0, 1}, {1}}, {2, {0}, {2}}, {2, {0}, {3}}};
  CHECK(least_load(tasks) == 6);
  CHECK(greedy_load(tasks) == 7);
  CHECK(receiver_load(tasks) == 3);
  // Ties are broken for the best.
  CHECK(greedy_load({{1, {0, 1}, {0}}, {1, {0}, {1}}}) == 1);
  // Once 1 has its sender, the greedy gives 3 to the other one, where 2 has to be sent.
  const UnitTasks branch{{3, {0, 1}, {0}}, {2, {0}, {1}}, {1, {1}, {2}}};
  CHECK(depth_first_bound(branch) == std::pair<std::int64_t, std::int64_t>{5, 4});
  const auto [bound, completion] = depth_first_bound({{2, {0}, {0}}, {1, {1}, {0}}});
  CHECK(bound == completion);
}

TEST_CASE("sets of tasks are all enumerated, each once") {
  // Sizes 2 and 1 or 1 and 2, with 3 kinds each: 9; as sets the longer one is first.
  std::set<std::string> seen;
  std::size_t count = 0;
  for_each_task_set({2, 2, 1, 3}, 2, [&](const UnitTasks& tasks) {
    std::string text;
    for (const UnitTask& task : tasks) {
      text += std::to_string(task.size) + (task.sender_hosts.size() == 2 ? "b" : "") +
              std::to_string(task.sender_hosts[0]) + " ";
    }
    seen.insert(text);
    ++count;
    return true;
  });
  CHECK(count == 9);
  CHECK(seen.size() == 9);
  // Two of size 1: unordered pairs of 3 kinds.
  count = 0;
  for_each_task_set({2, 2, 1, 2}, 2, [&](const UnitTasks&) {
    ++count;
    return true;
  });
  CHECK(count == 6);
}

TEST_CASE("prove prints claims about schedules, beside others too, and reports them") {
  const Ran refuted = run({"prove", "reshard-simple-bound-tight", "--format", "json"});
  CHECK(refuted.exit == 1);
  const nlohmann::json answer = nlohmann::json::parse(refuted.out);
  CHECK(answer["verdict"] == "refuted");
  REQUIRE(answer["schedules"].size() == 1);
  CHECK(answer["schedules"][0]["counterexample"]["tasks"]["tasks"].size() == 3);
  CHECK(run({"prove", "pipeline-peaks"}).exit == 0);

  const TemporaryFile report("", ".md");
  const Ran both =
      run({"prove", "expressiveness", "pipeline-peaks", "reshard-greedy-optimal", "--max-devices",
           "2", "--from", "a", "--to", "b", "--report", report.path()});
  CHECK(both.exit == 1);
  CHECK(both.out.find("holds    pipeline-peaks") != std::string::npos);
  CHECK(both.out.find("refuted  reshard-greedy-optimal") != std::string::npos);
  std::ifstream file(report.path());
  std::stringstream text;
  text << file.rdbuf();
  CHECK(text.str().find("# Statements of the paper") != std::string::npos);
  CHECK(text.str().find("| reshard-greedy-optimal | 3.2, Eq. 4 |") != std::string::npos);
  CHECK(text.str().find("p2-verify reshard --tasks FILE") != std::string::npos);

  CHECK(run({"prove", "--list"}).out.find("pipeline-eager-hides") != std::string::npos);
  CHECK(
      nlohmann::json::parse(run({"prove", "--list", "--format", "json"}).out)["schedules"].size() ==
      schedule_registry().size());
  CHECK(run({"prove", "--all", "pipeline-peaks"}).exit == 2);
}
