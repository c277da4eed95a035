#include <doctest/doctest.h>

#include "engine/onesided/judge.h"
#include "engine/onesided/text_plan.h"
#include "p2/error.h"
#include "tests/onesided/plans.h"

namespace p2::onesided {

TEST_CASE(
    "no plan that is judged valid fails in a run with late stores, and most refused ones do") {
  constexpr std::uint64_t kPlans = 1500;
  constexpr std::uint64_t kRuns = 24;
  const std::vector<std::string> plans = small_plans();
  const Limits limits;
  LimitWatch watch(limits, "test");
  std::size_t valid = 0;
  std::size_t invalid = 0;
  std::size_t shown = 0;
  for (std::uint64_t seed = 0; seed < kPlans; ++seed) {
    const std::string text =
        seed < plans.size() ? plans[seed] : mutated(plans[seed % plans.size()], seed + 1000000);
    try {
      const TextPlan plan = read_text_plan("plan", text);
      const PlanDecision decision = judge(plan, "plan", limits);
      const auto unrolled = unroll(plan, "plan", launches_to_check(plan));
      const auto* const unrolling = std::get_if<Unrolling>(&unrolled);
      if (unrolling == nullptr || decision.outcome == Outcome::Undecided) continue;
      const auto failure = find_failing_run(*unrolling, kRuns, watch);
      if (decision.outcome == Outcome::Established) {
        ++valid;
        CHECK_MESSAGE(!failure, text << failure->reason << " with seed " << failure->seed);
      } else {
        ++invalid;
        if (failure) ++shown;
      }
    } catch (const InputError&) {
    }
  }
  MESSAGE(valid << " valid, " << shown << " of " << invalid << " invalid shown");
  CHECK(valid > 400);
  CHECK(shown * 2 > invalid);
}

}  // namespace p2::onesided
