#include <doctest/doctest.h>

#include <cstdio>

#include "engine/pipeline/simulation.h"
#include "tests/shared_data.h"

using namespace p2;
using nlohmann::json;

namespace {

PipelineSchedule schedule_called(const std::string& name) {
  if (name == "gpipe") return PipelineSchedule::GPipe;
  return name == "1f1b" ? PipelineSchedule::OneForwardOneBackward : PipelineSchedule::Eager;
}

PipelineLink link_called(const std::string& name) {
  if (name == "delay") return PipelineLink::Delay;
  return name == "link" ? PipelineLink::Link : PipelineLink::Blocking;
}

}  // namespace

TEST_CASE("orders, peaks and makespans agree with those of another simulator") {
  const auto points = shared_data("reshard/pipeline.json");
  if (!points) return;
  REQUIRE(!(*points)["rows"].empty());
  for (const json& row : (*points)["rows"]) {
    const PipelineSchedule schedule = schedule_called(row["schedule"]);
    const PipelineSize size{row["stages"], row["microbatches"]};
    for (std::uint32_t stage = 0; stage < size.stages; ++stage) {
      const auto order = stage_order(schedule, size, stage);
      CHECK(peak_activations(order) == row["peak_in_flight"][stage]);
      std::vector<std::string> words;
      for (const Work& work : order) words.push_back(to_string(work));
      CHECK(words == row["order"][stage].get<std::vector<std::string>>());
    }
    REQUIRE(!row["makespan"].empty());
    for (const auto& [name, makespan] : row["makespan"].items()) {
      PipelineTimes times;
      char link[16] = {};
      REQUIRE(std::sscanf(name.c_str(), "f%ld_b%ld_c%ld_%15s", &times.forward, &times.backward,
                          &times.latency, link) == 4);
      CAPTURE(name);
      CHECK(simulate(schedule, size, times, link_called(link)).makespan == makespan);
    }
  }
}
