#include "cli/check/msccl.h"

#include "cli/check/remembered.h"

#include <fmt/format.h>

#include "engine/msccl/algorithm_file.h"

namespace p2 {
namespace {

void require_applicable(const std::string& file, const CheckRequest& request) {
  const char* expected =
      "is MSCCL XML, which the explicit engine alone judges, expected the check without";
  for (const std::string& flag : request.flags_for_programs) {
    throw InputError({file}, fmt::format("{} --{}", expected, flag));
  }
  if ((request.engines.z3 || request.engines.cnf) && !request.engines.reference) {
    throw InputError({file},
                     fmt::format("{} --engine {}", expected, request.engines.z3 ? "z3" : "cnf"));
  }
}

}  // namespace

MscclResult check_msccl(const std::string& file, const std::string& text,
                        const CheckRequest& request, VerdictCache& cache) {
  require_applicable(file, request);
  MscclResult result{file, msccl::read_algorithm(file, text), {}, {}, request.engines.reference};
  result.verdict = judge_or_remember(result.algorithm, text, request.common.limits, cache);
  Finding finding{std::string(to_string(result.verdict.kind)), 0, {}};
  if (const auto& fault = result.verdict.fault) {
    finding.rule = to_string(fault->kind);
    if (!fault->steps.empty()) finding.step = result.algorithm.step(fault->steps.back()).number;
  }
  result.findings["explicit"] = finding;
  return result;
}

}  // namespace p2
