#include <doctest/doctest.h>

#include <map>

#include "engine/execution/plans/in_process.h"
#include "tests/reshard_plans/mutator.h"
#include "tests/reshard_plans/plans.h"

namespace execution = p2::execution;
using namespace p2::reshard;

namespace {

/// Whether all devices end with the right elements. Run twice: what a step does first is not the
/// same every time.
bool runs_right(const Plan& plan) {
  try {
    for (int i = 0; i < 2; ++i) {
      for (const DeviceResult& each : PlanInProcess().run({plan, 1, 0, 1})) {
        if (each.wrong > 0) return false;
      }
    }
  } catch (const execution::Interrupted&) {
    return false;
  }
  return true;
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
    const PlanVerdict verdict = judge(mutant.plan);
    const bool right = runs_right(mutant.plan);
    CAPTURE(i);
    CAPTURE(of.name);
    CAPTURE(mutant.what);
    if (!verdict.fault) {
      ++accepted;
      CHECK(right);
      CHECK(ends_right_element_by_element(mutant.plan));
      continue;
    }
    CAPTURE(verdict.fault->explanation);
    ++refused[std::string(to_string(verdict.fault->rule))];
    // Refused and still right: by luck in what is done first, or with data of no use.
    needlessly += right;
    const PlanRule rule = verdict.fault->rule;
    if (rule == PlanRule::Deadlock || rule == PlanRule::Missing) CHECK(!right);
  }
  MESSAGE(accepted << " accepted, " << needlessly << " refused that ended right");
  for (const auto& [rule, count] : refused) MESSAGE(rule << ": " << count);
  CHECK(refused.size() == 6);
  CHECK(accepted > 100);
}
