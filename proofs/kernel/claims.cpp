#include "proofs/kernel/claims.h"

namespace p2::kernel {
namespace {

using Names = std::vector<std::string>;

struct Kind {
  Names statement;  ///< files that say what is claimed
  Names evidence;
  std::string (*judge)(const std::string& claim, const Files& files) = nullptr;
};

const Kind& kind_of(const std::string& claim) {
  static const Names problem = {"problem.json"};
  static const Names strategy = {"problem.json", "strategy.json"};
  static const Names schedule = {"schedule.json"};
  static const Names plan = {"plan.json"};
  static const Names states = {"derivation.json"};
  static const Names bound = {"bound.json"};
  static const Names clauses = {"problem.cnf", "varmap", "proof.lrat"};
  static const std::map<std::string, Kind> kinds = {
      {"program-valid", {problem, states, judge_program}},
      {"not-expressible", {problem, states, judge_program}},
      {"program-invalid", {problem, {"derivation.json", "refutation.json"}, judge_program}},
      {"synthesis-complete", {problem, clauses, judge_absence}},
      {"expressible", {problem, clauses, judge_absence}},
      {"unused", {problem, clauses, judge_absence}},
      {"unmixed", {problem, clauses, judge_absence}},
      {"cheapest", {problem, {}, judge_cost}},
      {"strategy-optimal", {strategy, bound, judge_strategy}},
      {"strategy-optimal-clauses",
       {strategy, {"sums.json", "problem.cnf", "proof.lrat"}, judge_strategy}},
      {"reshard-schedule", {schedule, bound, judge_schedule}},
      {"reshard-schedule-gap", {{"schedule.json", "bound.json"}, {}, judge_schedule}},
      {"reshard-schedule-clauses", {schedule, {"problem.cnf", "proof.lrat"}, judge_schedule}},
      {"pipeline-memory", {{"pipeline.json"}, {"cases.json"}, judge_pipeline}},
      {"reshard-plan", {plan, {}, judge_plan}},
      {"reshard-plan-wrong", {plan, {}, judge_plan}}};
  const auto found = kinds.find(claim);
  if (found == kinds.end()) malformed("claim is unknown");
  return found->second;
}

}  // namespace

Names files_of(const std::string& claim) {
  Names names = kind_of(claim).statement;
  const Names& evidence = kind_of(claim).evidence;
  names.insert(names.end(), evidence.begin(), evidence.end());
  return names;
}

std::string check_claim(const std::string& claim, const Files& files) {
  const Kind& kind = kind_of(claim);
  const std::string words = kind.judge(claim, files);
  Json statement = {{"claim", claim}};  // an object: its keys are sorted
  for (const std::string& name : kind.statement) statement[name] = parse_json(files, name);
  return words + ", claim " + sha256(statement.dump()).substr(0, 12);
}

}  // namespace p2::kernel
