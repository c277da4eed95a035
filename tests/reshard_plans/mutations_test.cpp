#include <map>

#include <doctest/doctest.h>

#include "encodings/cnf/queries.h"
#include "encodings/z3/queries.h"
#include "engine/execution/in_process.h"
#include "engine/execution/workloads.h"
#include "tests/reshard_plans/mutator.h"
#include "tests/reshard_plans/plans.h"

namespace execution = p2::execution;
using namespace p2::reshard;
using p2::TransferStrategy;

namespace {

/// Whether all devices end with the right elements. Run twice: what a step does first is not the
/// same every time.
bool runs_right(const Plan& plan) {
  try {
    for (int i = 0; i < 2; ++i) {
      const execution::PlanRun run(plan);
      for (const execution::RankResult& each : execution::InProcess().run({run, 1, 0, 1})) {
        if (each.audits.back().wrong > 0) return false;
      }
    }
  } catch (const execution::Interrupted&) {
    return false;
  }
  return true;
}

std::string explicit_rule(const Plan& plan) {
  const auto fault = judge(plan).violation;
  return fault ? std::string(to_string(fault->rule)) : "";
}

void all_agree(const Plan& plan) {
  const std::string rule = explicit_rule(plan);
  const auto clauses = p2::cnf::judge({&plan, {}});
  CHECK(clauses.outcome != p2::Outcome::Undecided);
  CHECK(clauses.rule == rule);
  const auto z3 = p2::z3_encoding::judge({&plan, {}});
  CHECK(z3.outcome != p2::Outcome::Undecided);
  CHECK(z3.rule == rule);
}

}  // namespace

TEST_CASE("5000 mutated plans on real data: no wrong or missing element is accepted") {
  std::vector<Case> cases = table2({4, 6, 3});
  for (const Case& odd : odd_cases()) cases.push_back(odd);
  std::mt19937 random(7);
  std::map<std::string, int> refused;
  int accepted = 0;
  int needlessly = 0;
  for (int i = 0; i < 5000; ++i) {
    const Case& of = cases[static_cast<std::size_t>(i) % cases.size()];
    const auto strategy = kStrategies[random() % 4];
    const Plan plan = plan_for(of, strategy, kDecompositions[random() % 2], 1 + random() % 3);
    const Mutant mutant = mutated(plan, random);
    const PlanDecision verdict = judge(mutant.plan);
    const bool right = runs_right(mutant.plan);
    CAPTURE(i);
    CAPTURE(of.name);
    CAPTURE(mutant.what);
    if (!verdict.violation) {
      ++accepted;
      CHECK(right);
      CHECK(ends_right_element_by_element(mutant.plan));
      continue;
    }
    CAPTURE(verdict.violation->explanation);
    ++refused[std::string(to_string(verdict.violation->rule))];
    // Refused and still right: by luck in what is done first, or with data of no use.
    needlessly += right;
    const PlanRule rule = verdict.violation->rule;
    if (rule == PlanRule::Deadlock || rule == PlanRule::Missing) CHECK(!right);
  }
  MESSAGE(accepted << " accepted, " << needlessly << " refused that ended right");
  for (const auto& [rule, count] : refused) MESSAGE(rule << ": " << count);
  CHECK(refused.size() == 6);
  CHECK(accepted > 100);
}

TEST_CASE("Z3, clauses and box arithmetic agree on the plans of table 2") {
  for (const Case& each : table2({12, 24, 8})) {
    CAPTURE(each.name);
    const bool large = each.name == "case 4";
    all_agree(plan_for(each, large ? TransferStrategy::SendRecv : TransferStrategy::Broadcast,
                       p2::Decomposition::Intersection, 2));
    if (!large) {
      all_agree(plan_for(each, TransferStrategy::GlobalAllGather, p2::Decomposition::Source));
    }
  }
}

TEST_CASE("Z3, clauses and box arithmetic agree on 300 mutated plans, rule by rule") {
  const std::vector<Case> cases = odd_cases();
  std::mt19937 random(27);
  std::map<std::string, int> met;
  for (int i = 0; i < 300; ++i) {
    const Case& of = cases[static_cast<std::size_t>(i) % cases.size()];
    const Plan plan =
        plan_for(of, kStrategies[random() % 4], kDecompositions[random() % 2], 1 + random() % 3);
    const Mutant mutant = mutated(plan, random);
    CAPTURE(i);
    CAPTURE(of.name);
    CAPTURE(mutant.what);
    all_agree(mutant.plan);
    ++met[explicit_rule(mutant.plan)];
  }
  CHECK(met.size() == 7);
}

TEST_CASE("a solver says that it does not know where a plan is too large or a limit is met") {
  const Case large{"", {64, 64}, "1x1:R,R", "2x4:R,R"};
  const Plan plan =
      plan_for(large, TransferStrategy::Broadcast, p2::Decomposition::Intersection, 200);
  CHECK(p2::cnf::judge({&plan, {}}).outcome == p2::Outcome::Undecided);
  CHECK(p2::z3_encoding::judge({&plan, {}}).outcome == p2::Outcome::Undecided);
  const Plan small =
      plan_for(large, TransferStrategy::Broadcast, p2::Decomposition::Intersection, 20);
  CHECK(p2::cnf::judge({&small, {std::chrono::steady_clock::now(), {}, {}}}).outcome ==
        p2::Outcome::Undecided);
  CHECK(p2::z3_encoding::judge({&small, {std::chrono::steady_clock::now(), {}, {}}}).outcome ==
        p2::Outcome::Undecided);
}
