#include "proofs/kernel/other_seeds.h"

#include <map>

#include "proofs/kernel/reshard_plan.h"
#include "proofs/kernel/reshard_schedule.h"
#include "proofs/kernel/strategy_graph.h"

namespace p2::kernel {

const OtherClaim* other_claim(const std::string& name) {
  static const std::map<std::string, OtherClaim> claims = {
      {"strategy-optimal", {{"problem.json", "strategy.json", "bound.json"}, judge_strategy}},
      {"reshard-schedule", {{"schedule.json", "bound.json"}, judge_schedule}},
      {"reshard-schedule-clauses",
       {{"schedule.json", "problem.cnf", "proof.lrat"}, judge_schedule}},
      {"reshard-plan", {{"plan.json"}, judge_plan}},
      {"reshard-plan-wrong", {{"plan.json"}, judge_wrong_plan}},
  };
  const auto found = claims.find(name);
  return found == claims.end() ? nullptr : &found->second;
}

}  // namespace p2::kernel
