#include <doctest/doctest.h>

#include "engine/reshard/exact_search.h"
#include "engine/reshard/task_file.h"
#include "tests/shared_data.h"

using namespace p2;
using nlohmann::json;

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
