#include "p2/compare.h"

#include "proofs/api/module_check.h"

namespace p2 {

CompareAnswer compare(const CompareRequest& request, const Options& options) {
  ModuleQuestion question;
  question.replicas = request.replicas;
  question.partitions = request.partitions;
  question.ordered = request.ordered;
  question.numbers = request.numbers;
  ModuleCheck check = compare_module_files(request.before, request.after, question, options.limits);
  CompareAnswer answer;
  const hlo::ModuleDecision& decision = check.decision;
  const auto& element =
      decision.violation ? decision.violation->element : decision.undecided_element;
  if (element) {
    answer.element = {element->device, element->replica, element->partition, element->output,
                      element->index,  element->before,  element->after};
  }
  answer.replicas = decision.devices.replicas;
  answer.partitions = decision.devices.partitions;
  answer.devices_assumed = decision.devices.assumed;
  answer.numbers = decision.equality;
  answer.shown = decision.shown;
  answer.uninterpreted = decision.uninterpreted;
  answer.outcome = check.result.outcome;
  answer.results = {std::move(check.result)};
  answer.document.title = "p2-verify compare";
  answer.document.blocks = std::move(check.text);
  answer.document.json.add("results", Json::array({std::move(check.json)}));
  answer.document.reports = {std::move(check.report)};
  return answer;
}

}  // namespace p2
