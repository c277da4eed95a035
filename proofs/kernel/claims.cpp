#include "proofs/kernel/claims.h"

namespace p2::kernel {
namespace {

struct Kind {
  std::vector<std::string> files;
  std::string (*judge)(const std::string& claim, const Files& files) = nullptr;
};

const Kind& kind_of(const std::string& claim) {
  static const std::vector<std::string> clauses = {"problem.json", "problem.cnf", "varmap",
                                                   "proof.lrat"};
  static const std::map<std::string, Kind> kinds = {
      {"program-valid", {{"problem.json", "derivation.json"}, judge_program}},
      {"not-expressible", {{"problem.json", "derivation.json"}, judge_program}},
      {"program-invalid", {{"problem.json", "derivation.json", "refutation.json"}, judge_program}},
      {"synthesis-complete", {clauses, judge_absence}},
      {"expressible", {clauses, judge_absence}},
      {"unused", {clauses, judge_absence}},
      {"unmixed", {clauses, judge_absence}},
      {"cheapest", {{"problem.json"}, judge_cost}},
      {"strategy-optimal", {{"problem.json", "strategy.json", "bound.json"}, judge_strategy}},
      {"strategy-optimal-clauses",
       {{"problem.json", "strategy.json", "sums.json", "problem.cnf", "proof.lrat"},
        judge_strategy}},
      {"reshard-schedule", {{"schedule.json", "bound.json"}, judge_schedule}},
      {"reshard-schedule-gap", {{"schedule.json", "bound.json"}, judge_schedule}},
      {"reshard-schedule-clauses",
       {{"schedule.json", "problem.cnf", "proof.lrat"}, judge_schedule}},
      {"pipeline-memory", {{"pipeline.json", "cases.json"}, judge_pipeline}},
      {"reshard-plan", {{"plan.json"}, judge_plan}},
      {"reshard-plan-wrong", {{"plan.json"}, judge_plan}}};
  const auto found = kinds.find(claim);
  if (found == kinds.end()) malformed("claim is unknown");
  return found->second;
}

}  // namespace

std::vector<std::string> files_of(const std::string& claim) { return kind_of(claim).files; }

std::string check_claim(const std::string& claim, const Files& files) {
  return kind_of(claim).judge(claim, files);
}

}  // namespace p2::kernel
