#include "engine/reshard/plans/plan_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/document_writers.h"

namespace p2::reshard {
namespace {

constexpr std::size_t kMaxDevicesDrawn = 32;
constexpr std::size_t kMaxStepsDrawn = 12;

Json place_json(const OperationPlace& place) {
  return Json::object(
      {{"device", place.device}, {"step", place.step + 1}, {"operation", place.index + 1}});
}

std::string region_text(const Box& box) { return box.elements() == 0 ? "-" : to_string(box); }

std::string steps_text(const DeviceProgram& program) {
  std::string text;
  for (std::size_t i = 0; i < program.size() && i < kMaxStepsDrawn; ++i) {
    text += i == 0 ? "" : " | ";
    for (const Operation& each : program[i]) {
      text += fmt::format("{}{}{}", &each == &program[i].front() ? "" : " ", each.sends ? ">" : "<",
                          each.peer);
    }
  }
  if (program.size() > kMaxStepsDrawn) {
    text += fmt::format(" | … {} more", program.size() - kMaxStepsDrawn);
  }
  return text.empty() ? "-" : text;
}

}  // namespace

Json plan_json(const Plan& plan) {
  Json json = Json::object({{"format", kPlanFormat},
                            {"strategy", plan.strategy},
                            {"shape", Json::array_of(plan.problem.shape)},
                            {"hosts", Json::array_of(plan.problem.hosts)},
                            {"from", to_json(plan.problem.from)},
                            {"to", to_json(plan.problem.to)}});
  json.add("programs", Json::array_of(plan.programs, [](const DeviceProgram& program) {
             return Json::array_of(program, [](const Step& step) {
               return Json::array_of(step, [](const Operation& each) { return to_json(each); });
             });
           }));
  return json;
}

Json fault_json(const PlanFault& fault) {
  const bool placed = fault.rule != PlanRule::Missing;
  Json elements;
  if (!fault.box.low.empty()) {
    elements = Json::object(
        {{"low", Json::array_of(fault.box.low)}, {"high", Json::array_of(fault.box.high)}});
  }
  return Json::object({{"rule", to_string(fault.rule)},
                       {"device", fault.place.device},
                       {"step", placed ? Json(fault.place.step + 1) : Json()},
                       {"operation", placed ? Json(fault.place.index + 1) : Json()},
                       {"others", Json::array_of(fault.others, place_json)},
                       {"elements", std::move(elements)}});
}

std::string draw(const Plan& plan) {
  const auto held = plan.problem.regions(plan.problem.from);
  const auto needed = plan.problem.regions(plan.problem.to);
  std::vector<std::vector<std::string>> rows{
      {"device", "host", "has", "is to end with", "steps: >5 sends to 5, <5 receives"}};
  for (std::uint32_t d = 0; d < plan.problem.devices() && d < kMaxDevicesDrawn; ++d) {
    rows.push_back({std::to_string(d), std::to_string(plan.problem.hosts[d]), region_text(held[d]),
                    region_text(needed[d]), steps_text(plan.programs[d])});
  }
  std::string text = table_text(rows, 2);
  if (plan.problem.devices() > kMaxDevicesDrawn) {
    text += fmt::format("… and {} more devices\n", plan.problem.devices() - kMaxDevicesDrawn);
  }
  return text;
}

}  // namespace p2::reshard
