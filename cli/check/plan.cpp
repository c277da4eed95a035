#include "cli/check/plan.h"

#include <fmt/format.h>

#include "cli/check/certificate.h"
#include "cli/meshes/plan_report.h"
#include "cli/output.h"
#include "encodings/cnf/reshard_plan.h"
#include "encodings/z3/reshard_plan.h"
#include "engine/reshard/plans/plan_file.h"
#include "proofs/certificate/plan_certificate.h"
#include "p2/version.h"

namespace p2 {
namespace {

Finding finding_of(const PlanJudgement& judgement) {
  if (!judgement.known) return {};
  return {judgement.rule.empty() ? "valid" : "invalid", 0, judgement.rule};
}

std::string finding_text(const Finding& finding) {
  return finding.rule.empty() ? finding.verdict : finding.verdict + ", " + finding.rule;
}

}  // namespace

Findings ask(const Engines& engines, const reshard::Plan& plan, const reshard::PlanVerdict& verdict,
             const Limits& limits) {
  Findings findings;
  findings["explicit"] = {"valid", 0, {}};
  if (verdict.fault) {
    findings["explicit"] = {"invalid", 0, std::string(to_string(verdict.fault->rule))};
  }
  if (engines.z3) {
    findings["z3"] = finding_of(z3_encoding::judge({&plan, z3_encoding::budget_of(limits)}));
  }
  if (engines.cnf) findings["cnf"] = finding_of(cnf::judge({&plan, limits}));
  return findings;
}

PlanResult check_plan(const std::string& file, const std::string& text,
                      const CheckRequest& request) {
  for (const std::string& flag : request.flags_for_programs) {
    if (flag == "certify" || flag == "explain") continue;
    throw InputError({file}, fmt::format("is a plan of a resharding, expected no --{}", flag));
  }
  PlanResult result{file, reshard::read_plan(file, text), {}, {}, {}};
  result.verdict = judge(result.plan);
  result.findings = ask(request.engines, result.plan, result.verdict, request.common.limits);
  return result;
}

std::optional<WritingTrouble> certify(PlanResult& result, const CheckRequest& request,
                                      std::size_t index) {
  if (disagree(result.findings)) return {};
  const std::string folder = certificate_folder(request, index);
  return trouble_of_writing(folder, [&] {
    write_folder(folder,
                 plan_certificate(
                     result.plan, !result.verdict.fault,
                     {{{"p2-verify", build_info().version}}, {{"engine", "explicit"}}, request.common.seed}));
    result.certificate = folder;
  });
}

std::string to_json(const PlanResult& result) {
  std::string engines;
  std::string findings;
  for (const auto& [engine, finding] : result.findings) {
    const char* separator = engines.empty() ? "" : ",";
    engines += fmt::format("{}\"{}\":\"{}\"", separator, engine, finding.verdict);
    findings +=
        fmt::format("{}\"{}\":{{\"verdict\":\"{}\",\"rule\":{}}}", separator, engine,
                    finding.verdict, finding.rule.empty() ? "null" : json_string(finding.rule));
  }
  const auto& fault = result.verdict.fault;
  const bool has_step = fault && fault->rule != reshard::PlanRule::Missing;
  return fmt::format(
      "{{\"file\":{},\"format\":\"reshard-plan\",\"strategy\":{},\"devices\":{},\"transfers\":{},"
      "\"verdict\":\"{}\",\"engines\":{{{}}},\"findings\":{{{}}},\"certificate\":{},"
      "\"completes\":{{\"rendezvous\":{},\"buffered\":{}}},\"received_twice\":{},\"step\":{},"
      "\"reason\":{},"
      "\"counterexample\":{}}}",
      json_string(result.file), json_string(result.plan.strategy), result.plan.problem.devices(),
      result.plan.transfers(), fault ? "invalid" : "valid", engines, findings,
      result.certificate.empty() ? "null" : json_string(result.certificate),
      result.verdict.completes, result.verdict.completes_buffered,
      fault ? "null" : std::to_string(result.verdict.received_twice),
      has_step ? std::to_string(fault->place.step + 1) : "null",
      fault ? json_string(fault->explanation) : "null", counterexample_json(result.verdict));
}

std::string to_text(const PlanResult& result, bool explain) {
  const auto& fault = result.verdict.fault;
  std::string text =
      fmt::format("{}: {} (plan of a resharding{}{}, {} devices, {} transfers)\n", result.file,
                  fault ? fmt::format("invalid, {}", to_string(fault->rule)) : "valid",
                  result.plan.strategy.empty() ? "" : ", ", result.plan.strategy,
                  result.plan.problem.devices(), result.plan.transfers());
  if (fault) text += fault->explanation + "\n";
  if (explain) text += draw(result.plan);
  for (const auto& [engine, finding] : result.findings) {
    if (result.findings.size() > 1) text += fmt::format("{}: {}\n", engine, finding_text(finding));
  }
  if (!result.certificate.empty()) text += "certificate: " + result.certificate + "\n";
  return text;
}

}  // namespace p2
