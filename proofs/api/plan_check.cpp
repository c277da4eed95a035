#include "proofs/api/plan_check.h"

#include <array>

#include <fmt/format.h>

#include "encodings/cnf/queries.h"
#include "encodings/z3/queries.h"
#include "engine/reshard/plans/plan_report.h"
#include "p2/version.h"
#include "proofs/api/subject_check.h"
#include "proofs/certificate/plan_certificate.h"

namespace p2 {
namespace {

std::string word_of(const EngineAnswer& answer) {
  return fmt::format("{}{}", to_string(answer.outcome),
                     answer.rule.empty() ? "" : ", " + answer.rule);
}

Json json_of(const std::string& file, const PlanCheckAnswer& answer) {
  const reshard::Plan& plan = answer.plan;
  const reshard::PlanDecision& decision = answer.decision;
  const auto& fault = decision.violation;
  const Result& result = answer.results.front();
  Json engines = Json::object();
  Json findings = Json::object();
  for (const EngineAnswer& each : result.engines) {
    engines.add(each.engine, to_string(each.outcome));
    findings.add(each.engine, Json::object({{"verdict", to_string(each.outcome)},
                                            {"rule", each.rule.empty() ? Json() : each.rule}}));
  }
  const bool certified = result.evidence.kind == Evidence::Kind::Certificate;
  const bool has_step = fault && fault->rule != reshard::PlanRule::Missing;
  return Json::object({{"file", file},
                       {"format", "reshard-plan"},
                       {"strategy", plan.strategy},
                       {"devices", plan.problem.devices()},
                       {"transfers", plan.transfers()},
                       {"verdict", to_string(decision.outcome)},
                       {"engines", std::move(engines)},
                       {"findings", std::move(findings)},
                       {"certificate", certified ? Json(result.evidence.folder) : Json()},
                       {"claim_digest", certified ? Json(result.evidence.claim) : Json()},
                       {"completes", Json::object({{"rendezvous", decision.completes_rendezvous},
                                                   {"buffered", decision.completes_buffered}})},
                       {"received_twice", fault ? Json() : Json(decision.received_twice)},
                       {"step", has_step ? Json(fault->place.step + 1) : Json()},
                       {"reason", fault ? Json(fault->explanation) : Json()},
                       {"counterexample", fault ? fault_json(*fault) : Json()}});
}

std::string text_of(const std::string& file, const PlanCheckAnswer& answer, bool explain) {
  const reshard::Plan& plan = answer.plan;
  const auto& fault = answer.decision.violation;
  const Result& result = answer.results.front();
  std::string text = fmt::format(
      "{}: {} (plan of a resharding{}{}, {} devices, {} transfers)\n", printable(file),
      fault ? fmt::format("invalid, {}", to_string(fault->rule)) : "valid",
      plan.strategy.empty() ? "" : ", ", plan.strategy, plan.problem.devices(), plan.transfers());
  if (fault) text += fault->explanation + "\n";
  if (explain) text += draw(plan);
  for (const EngineAnswer& each : result.engines) {
    if (result.engines.size() > 1) text += fmt::format("{}: {}\n", each.engine, word_of(each));
  }
  if (result.evidence.kind == Evidence::Kind::Certificate) {
    text += certificate_line(result.evidence) + "\n";
  }
  return text;
}

Result result_of(const std::string& file, const PlanCheckAnswer& answer,
                 std::vector<EngineAnswer> engines) {
  Result result;
  result.subject = file;
  result.outcome = disagree(engines) ? Outcome::Disagreement : answer.decision.outcome;
  if (const auto& fault = answer.decision.violation) {
    result.counterexample = Counterexample{
        std::string(to_string(fault->rule)), {file}, fault->explanation, fault_json(*fault)};
  }
  result.engines = std::move(engines);
  result.model = "all orders of the operations of a step, sends that wait for their receives";
  return result;
}

FileReport report_of(const std::string& file, const PlanCheckAnswer& answer) {
  constexpr std::array<const char*, 6> kNames = {"bounds",     "matches", "deadlocks",
                                                 "overwrites", "sources", "result"};
  const auto& fault = answer.decision.violation;
  const std::size_t settled = fault ? static_cast<std::size_t>(fault->rule) : kNames.size();
  FileReport report{file, "reshard-plan", {}, 0};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    Property& property = report.properties.emplace_back();
    property.name = kNames[i];
    if (i > settled) property.status = Property::Status::NotExamined;
    if (i != settled) continue;
    property.status = Property::Status::Refuted;
    property.rule = to_string(fault->rule);
    property.message = fault->explanation;
  }
  const auto& engines = answer.results.front().engines;
  if (engines.size() > 1) report.properties.push_back(engines_property(engines, word_of));
  return report;
}

/// By engine.
std::vector<EngineAnswer> ask(const PlanCheckQuestion& question, const reshard::Plan& plan,
                              const reshard::PlanDecision& decision, const Limits& limits) {
  std::vector<EngineAnswer> answers;
  if (question.cnf) answers.push_back(cnf::judge({&plan, limits}));
  EngineAnswer& own = answers.emplace_back();
  own.engine = "explicit";
  own.outcome = decision.outcome;
  if (decision.violation) own.rule = to_string(decision.violation->rule);
  if (question.z3) {
    answers.push_back(z3_encoding::judge({&plan, limits}));
  }
  return answers;
}

}  // namespace

PlanCheckAnswer check_plan_file(const std::string& file, const std::string& text,
                                const PlanCheckQuestion& question, const Options& options) {
  if (!question.inapplicable_options.empty()) {
    throw InputError({file}, fmt::format("is a plan of a resharding, expected no --{}",
                                         question.inapplicable_options.front()));
  }
  PlanCheckAnswer answer;
  answer.plan = reshard::read_plan(file, text);
  answer.decision = judge(answer.plan);
  Result& result = answer.results.emplace_back(
      result_of(file, answer, ask(question, answer.plan, answer.decision, options.limits)));
  answer.outcome = result.outcome;
  if (question.certificate && result.outcome != Outcome::Disagreement) {
    const std::string& folder = *question.certificate;
    const auto write = [&] {
      const Provenance provenance{
          {{"p2-verify", build_info().version}}, {{"engine", "explicit"}}, options.seed};
      write_folder(folder, plan_certificate(answer.plan, !answer.decision.violation, provenance));
    };
    result.evidence = written_evidence(folder, write, answer.diagnostics);
  }
  answer.document.add(Preformatted{text_of(file, answer, question.explain)});
  answer.document.json = json_of(file, answer);
  answer.document.reports.push_back(report_of(file, answer));
  return answer;
}

}  // namespace p2
