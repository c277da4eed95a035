#include "engine/reshard/plans/plan_report.h"
#include "proofs/api/module_check.h"
#include "proofs/api/msccl_check.h"
#include "proofs/api/plan_check.h"
#include "proofs/api/subject_check.h"

namespace p2 {
namespace {

SubjectCheck subject_of(const Answer& answer) {
  SubjectCheck check;
  check.result = answer.results.front();
  check.json = answer.document.json;
  check.text = answer.document.blocks;
  check.report = answer.document.reports.front();
  check.diagnostics = answer.diagnostics;
  return check;
}

ModuleQuestion module_question(const CheckQuestion& question) {
  const CheckRequest& request = question.request;
  return {request.replicas, request.partitions,       request.ordered, request.reduces,
          request.engine,   program_options(request), request.relate};
}

}  // namespace

SubjectCheck check_module(const std::string& file, const std::string& text,
                          const CheckQuestion& question) {
  return check_module_file(file, text, module_question(question), question.given,
                           question.options.limits);
}

SubjectCheck compare_modules(const std::string& before, const std::string& after,
                             const CheckQuestion& question) {
  return compare_module_files(before, after, module_question(question), question.options.limits);
}

SubjectCheck check_msccl(const std::string& file, const std::string& text,
                         const CheckQuestion& question) {
  const Engines& engines = question.engines;
  AlgorithmCheckQuestion asked;
  asked.inapplicable_options = program_options(question.request);
  if ((engines.z3 || engines.cnf) && !engines.reference) {
    asked.inapplicable_options.push_back(engines.z3 ? "engine z3" : "engine cnf");
  }
  asked.solvers = engines.reference;
  asked.decide = [&](const msccl::Algorithm& algorithm) {
    return judge_with_cache(algorithm, text, question.options.limits, question.cache);
  };
  return subject_of(check_algorithm(file, text, asked, question.options.limits));
}

SubjectCheck check_plan(const std::string& file, const std::string& text,
                        const CheckQuestion& question) {
  PlanCheckQuestion asked;
  for (const std::string& flag : program_options(question.request)) {
    if (flag != "certify" && flag != "explain") asked.inapplicable_options.push_back(flag);
  }
  asked.z3 = question.engines.z3;
  asked.cnf = question.engines.cnf;
  asked.explain = question.request.explain;
  asked.certificate = question.certificate;
  const PlanCheckAnswer answer = check_plan_file(file, text, asked, question.options);
  SubjectCheck check = subject_of(answer);
  if (answer.outcome == Outcome::Disagreement) {
    check.input.add("plan", reshard::plan_json(answer.plan));
  }
  return check;
}

}  // namespace p2
