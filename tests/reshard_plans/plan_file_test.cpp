#include <doctest/doctest.h>

#include "p2/error.h"
#include "engine/reshard/plans/plan_file.h"
#include "tests/reshard_plans/plans.h"

using namespace p2::reshard;
using p2::Decomposition;

TEST_CASE("plans are written and read again, and mistakes in the text are named") {
  for (const Case& each : odd_cases()) {
    const Plan plan = plan_for(each, PlanStrategy::LocalAllGather, Decomposition::Source);
    const std::string text = to_json(plan);
    REQUIRE(is_plan(text));
    const Plan again = read_plan("plan.json", text);
    CHECK(again.programs == plan.programs);
    CHECK(again.problem.hosts == plan.problem.hosts);
    CHECK(again.problem.regions(again.problem.to) == plan.problem.regions(plan.problem.to));
    CHECK(to_json(again) == text);
  }
  const auto complaint = [](const std::string& part, const std::string& other) {
    std::string text =
        R"({"format":"reshard-plan/1","shape":[4],"hosts":[0,1],"from":{"mesh":[[0]],"spec":["R"]},
"to":{"mesh":[[1]],"spec":["R"]},"programs":[[[{"send":1,"of":"source","low":[0],"high":[4]}]],
[[{"receive":0,"low":[0],"high":[4]}]]]})";
    const std::size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    try {
      read_plan("p", text.replace(at, part.size(), other));
    } catch (const p2::InputError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(complaint("[4]", "[4]") == "none");
  CHECK(complaint("plan/1", "plan/2").starts_with("p:1:11: "));
  CHECK(complaint("\"mesh\":[[1]]", "\"mesh\":[[2]]").starts_with("p:2:16: "));
  CHECK(complaint("\"mesh\":[[1]]", "\"mesh\":[[1,1]]").starts_with("p:2:18: a device twice"));
  CHECK(complaint("\"mesh\":[[1]]", "\"mesh\":[[0],[]]").starts_with("p:2:19: "));
  CHECK(complaint("\"spec\":[\"R\"]", "\"spec\":[\"T\"]").starts_with("p:1:82: 'T' is no"));
  CHECK(complaint("\"send\":1", "\"send\":2").starts_with("p:2:56: "));
  CHECK(complaint("\"source\"", "\"sauce\"").starts_with("p:2:63: "));
  CHECK(complaint("\"high\":[4]", "\"high\":[1000000000001]")
            .starts_with("p:2:48: a box of more elements than a tensor may have"));
  CHECK(complaint("\"low\":[0]", "\"low\":[0,0]").starts_with("p:2:78: 2 coordinates"));
  CHECK(complaint("\"hosts\":[0,1]", "\"hosts\":[0,1,1]").find("2 programs") != std::string::npos);
}
