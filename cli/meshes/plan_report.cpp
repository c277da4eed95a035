#include "cli/meshes/plan_report.h"

#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/table.h"

namespace p2 {
namespace {

constexpr std::size_t kMostDevicesDrawn = 32;
constexpr std::size_t kMostStepsDrawn = 12;

std::string place_json(const reshard::OperationPlace& place) {
  return fmt::format("{{\"device\":{},\"step\":{},\"operation\":{}}}", place.device, place.step + 1,
                     place.index + 1);
}

std::string region_text(const reshard::Box& box) {
  return box.elements() == 0 ? "-" : to_string(box);
}

std::string steps_text(const reshard::DeviceProgram& program) {
  std::string text;
  for (std::size_t i = 0; i < program.size() && i < kMostStepsDrawn; ++i) {
    text += i == 0 ? "" : " | ";
    for (const reshard::Operation& each : program[i]) {
      text += fmt::format("{}{}{}", &each == &program[i].front() ? "" : " ", each.sends ? ">" : "<",
                          each.peer);
    }
  }
  if (program.size() > kMostStepsDrawn) {
    text += fmt::format(" | … {} more", program.size() - kMostStepsDrawn);
  }
  return text.empty() ? "-" : text;
}

}  // namespace

std::string counterexample_json(const reshard::PlanVerdict& verdict) {
  if (!verdict.fault) return "null";
  const reshard::PlanFault& fault = *verdict.fault;
  const bool placed = fault.rule != reshard::PlanRule::Missing;
  std::string others;
  for (const reshard::OperationPlace& each : fault.others) {
    others += (others.empty() ? "" : ",") + place_json(each);
  }
  std::string elements = "null";
  if (!fault.box.low.empty()) {
    elements = fmt::format("{{\"low\":[{}],\"high\":[{}]}}", fmt::join(fault.box.low, ","),
                           fmt::join(fault.box.high, ","));
  }
  return fmt::format(
      "{{\"rule\":\"{}\",\"device\":{},\"step\":{},\"operation\":{},\"others\":[{}],"
      "\"elements\":{}}}",
      to_string(fault.rule), fault.place.device,
      placed ? std::to_string(fault.place.step + 1) : "null",
      placed ? std::to_string(fault.place.index + 1) : "null", others, elements);
}

std::string draw(const reshard::Plan& plan) {
  const auto held = plan.problem.regions(plan.problem.from);
  const auto needed = plan.problem.regions(plan.problem.to);
  TableRows rows{{"device", "host", "has", "is to end with", "steps: >5 sends to 5, <5 receives"}};
  for (std::uint32_t d = 0; d < plan.problem.devices() && d < kMostDevicesDrawn; ++d) {
    rows.push_back({std::to_string(d), std::to_string(plan.problem.hosts[d]), region_text(held[d]),
                    region_text(needed[d]), steps_text(plan.programs[d])});
  }
  std::ostringstream text;
  print_table(rows, 2, text);
  if (plan.problem.devices() > kMostDevicesDrawn) {
    text << fmt::format("… and {} more devices\n", plan.problem.devices() - kMostDevicesDrawn);
  }
  return text.str();
}

}  // namespace p2
