#include "cli/meshes/reshard_plan.h"

#include <fmt/format.h>

#include "cli/meshes/plan_report.h"
#include "cli/output.h"
#include "engine/execution/processes/mpirun.h"
#include "engine/reshard/plans/plan_file.h"
#include "engine/topology/system.h"

namespace p2 {

PlanAnswer plan_answer(const ReshardRequest& request, const TaskSchedule& schedule,
                       std::ostream& out) {
  const PlanRequest& asked = *request.plan;
  PlanAnswer answer{make_plan(asked.problem, asked.choice, schedule), {}, {}, {}, {}};
  answer.verdict = judge(answer.plan);
  answer.formula = time_by_formula(asked.problem, request.tasks, asked.choice, schedule);
  if (asked.system && !answer.verdict.fault) {
    const std::string& source = *asked.system;
    const Network network(parse_system(source, read_file(source)), {source});
    answer.simulated = simulated_time(
        answer.plan, network, devices_on(network, asked.problem, source), asked.bytes_per_element);
    answer.busiest = network.name(answer.simulated->busiest);
  }
  // Of processes that run it, the one that starts them writes.
  if (asked.file && !(asked.run && execution::under_mpirun())) {
    Output file(asked.file, out);
    file.stream() << to_json(answer.plan);
    file.finish();
  }
  return answer;
}

namespace {

/// What the formulas say, in times to send the tensor once to one host.
double multiple(const PlanAnswer& answer) {
  double elements = 1;
  for (const std::int64_t length : answer.plan.problem.shape) {
    elements *= static_cast<double>(length);
  }
  return static_cast<double>(answer.formula.time) / static_cast<double>(answer.formula.parts) /
         elements;
}

}  // namespace

std::string to_text(const PlanAnswer& answer, const ReshardRequest& request) {
  const auto& fault = answer.verdict.fault;
  std::string text = fmt::format("\nplan: {}, {} transfers, {}\n", answer.plan.strategy,
                                 answer.plan.transfers(), fault ? fault->explanation : "right");
  text += fmt::format("by the formulas: {:.4g} times the time to send the tensor once\n",
                      multiple(answer));
  if (answer.simulated) {
    text += fmt::format("on {}: {:.4g} s; {} is busy for {:.4g} s of them\n", *request.plan->system,
                        answer.simulated->seconds, answer.busiest, answer.simulated->busy_seconds);
  }
  if (request.plan->file) text += fmt::format("written to {}\n", *request.plan->file);
  return text + "\n" + draw(answer.plan);
}

std::string to_json(const PlanAnswer& answer, const ReshardRequest& request) {
  const auto& fault = answer.verdict.fault;
  std::string seconds = "null";
  std::string bottleneck = "null";
  if (answer.simulated) {
    seconds = fmt::format("{:.9g}", answer.simulated->seconds);
    bottleneck = json_string(answer.busiest);
  }
  return fmt::format(
      "{{\"strategy\":{},\"transfers\":{},\"verdict\":\"{}\",\"reason\":{},\"file\":{},\n"
      "\"formula\":{{\"elements\":{},\"parts\":{}}},\"seconds\":{},\"bottleneck\":{},\n"
      "\"programs\":{}}}",
      json_string(answer.plan.strategy), answer.plan.transfers(), fault ? "invalid" : "valid",
      fault ? json_string(fault->explanation) : "null",
      request.plan->file ? json_string(*request.plan->file) : "null", answer.formula.time,
      answer.formula.parts, seconds, bottleneck, to_json(answer.plan));
}

}  // namespace p2
