#include "cli/reshard_plan.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/plan_report.h"
#include "engine/reshard/plan_file.h"

namespace p2 {

PlanAnswer plan_answer(const ReshardRequest& request, const TaskSchedule& schedule,
                       std::ostream& out) {
  const PlanRequest& asked = *request.plan;
  PlanAnswer answer{make_plan(asked.problem, asked.choice, schedule), {}};
  answer.verdict = judge(answer.plan);
  if (asked.file) {
    Output file(asked.file, out);
    file.stream() << to_json(answer.plan);
    file.finish();
  }
  return answer;
}

std::string to_text(const PlanAnswer& answer, const ReshardRequest& request) {
  const auto& fault = answer.verdict.fault;
  std::string text = fmt::format("\nplan: {}, {} transfers, {}\n", answer.plan.strategy,
                                 answer.plan.transfers(), fault ? fault->explanation : "right");
  if (request.plan->file) text += fmt::format("written to {}\n", *request.plan->file);
  return text + "\n" + draw(answer.plan);
}

std::string to_json(const PlanAnswer& answer, const ReshardRequest& request) {
  const auto& fault = answer.verdict.fault;
  return fmt::format(
      "{{\"strategy\":{},\"transfers\":{},\"verdict\":\"{}\",\"reason\":{},\"file\":{},\n"
      "\"programs\":{}}}",
      json_string(answer.plan.strategy), answer.plan.transfers(), fault ? "invalid" : "valid",
      fault ? json_string(fault->explanation) : "null",
      request.plan->file ? json_string(*request.plan->file) : "null", to_json(answer.plan));
}

}  // namespace p2
