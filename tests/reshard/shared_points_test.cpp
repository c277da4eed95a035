#include <doctest/doctest.h>

#include <algorithm>

#include "engine/reshard/decomposition.h"
#include "engine/reshard/exact_search.h"
#include "engine/reshard/task_file.h"
#include "tests/shared_data.h"

using namespace p2;
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
