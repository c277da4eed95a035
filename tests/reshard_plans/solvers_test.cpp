#include <doctest/doctest.h>

#include <map>

#include "encodings/cnf/reshard_plan.h"
#include "encodings/z3/reshard_plan.h"
#include "tests/reshard_plans/mutator.h"
#include "tests/reshard_plans/plans.h"

using namespace p2::reshard;

namespace {

std::string explicit_rule(const Plan& plan) {
  const auto fault = judge(plan).fault;
  return fault ? std::string(to_string(fault->rule)) : "";
}

void all_agree(const Plan& plan) {
  const std::string rule = explicit_rule(plan);
  const auto clauses = p2::cnf::judge({&plan, {}});
  CHECK(clauses.known);
  CHECK(clauses.rule == rule);
  const auto z3 = p2::z3_encoding::judge({&plan, {}});
  CHECK(z3.known);
  CHECK(z3.rule == rule);
}

}  // namespace

TEST_CASE("Z3, clauses and box arithmetic agree on the plans of table 2") {
  for (const Case& each : table2({12, 24, 8})) {
    CAPTURE(each.name);
    const bool large = each.name == "case 4";
    all_agree(plan_for(each, large ? PlanStrategy::SendRecv : PlanStrategy::Broadcast,
                       p2::Decomposition::Intersection, 2));
    if (!large) {
      all_agree(plan_for(each, PlanStrategy::GlobalAllGather, p2::Decomposition::Source));
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
  const Plan plan = plan_for(large, PlanStrategy::Broadcast, p2::Decomposition::Intersection, 200);
  CHECK(!p2::cnf::judge({&plan, {}}).known);
  CHECK(!p2::z3_encoding::judge({&plan, {}}).known);
  const Plan small = plan_for(large, PlanStrategy::Broadcast, p2::Decomposition::Intersection, 20);
  CHECK(!p2::cnf::judge({&small, {std::chrono::steady_clock::now(), {}, {}}}).known);
  CHECK(!p2::z3_encoding::judge({&small, {std::chrono::milliseconds(0), {}, {}}}).known);
}
