#include <cstdlib>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "encodings/z3/queries.h"
#include "engine/onesided/judge.h"
#include "engine/onesided/text_plan.h"
#include "p2/error.h"
#include "tests/onesided/plans.h"

namespace p2::onesided {
namespace {

/// What Z3 says of all launches.
Outcome by_orders(const Unroll& unroll, std::uint32_t launches) {
  const auto ask = [&](std::uint32_t beyond) {
    auto unrolled = unroll(0, launches + beyond);
    auto* const unrolling = std::get_if<Unrolling>(&unrolled);
    if (unrolling == nullptr) return Outcome::Refuted;
    unrolling->judged = launches;
    return z3_encoding::judge(z3_encoding::OrdersQuery{unrolling, {}}).outcome;
  };
  const Outcome found = ask(0);
  return found == Outcome::Undecided ? ask(kLaunchesBeyond) : found;
}

void compare(const PlanDecision& decision, Outcome found, const std::string& text, Counts& counts) {
  const bool unknown = decision.open == "unknown-collective";
  const Outcome expected = unknown ? Outcome::Established : decision.outcome;
  if (expected == Outcome::Undecided || found == Outcome::Undecided) {
    ++counts.open;
    return;
  }
  ++(found == Outcome::Refuted ? counts.invalid : counts.valid);
  CHECK_MESSAGE(found == expected,
                fmt::format("{}\ngraph: {}", text,
                            decision.violation ? decision.violation->reason : "valid"));
}

void compare_text(const std::string& text, Counts& counts) {
  try {
    const TextPlan plan = read_text_plan("plan", text);
    const auto unroll_text = [&](std::size_t, std::uint32_t launches) {
      return unroll(plan, "plan", launches);
    };
    compare(judge(plan, "plan", {}), by_orders(unroll_text, launches_to_check(plan)), text, counts);
  } catch (const InputError&) {  // a change that leaves no plan
  }
}

}  // namespace

TEST_CASE("Z3 over orders agrees with the graph about small plans and their mutants") {
  // The campaign asks about more: P2_PLANS=2000.
  const char* const given = std::getenv("P2_PLANS");
  const std::uint64_t wanted = given != nullptr ? std::strtoull(given, nullptr, 10) : 60;
  const std::vector<std::string> plans = small_plans();
  Counts counts;
  for (const std::string& plan : plans) compare_text(plan, counts);
  CHECK(counts.invalid == 0);
  for (std::uint64_t seed = 0; seed < wanted; ++seed) {
    compare_text(mutated(plans[seed % plans.size()], seed), counts);
  }
  MESSAGE(counts.valid << " valid, " << counts.invalid << " invalid, " << counts.open << " open");
  CHECK(counts.valid > wanted / 4);
  CHECK(counts.invalid > wanted / 4);
  CHECK(counts.open < wanted / 4);
}

TEST_CASE("Z3 over orders agrees with the graph about execution plans and their mutants") {
  Counts counts;
  for (const Plan& original : small_execution_plans()) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const Plan plan = seed == 0 ? original : mutated(original, seed);
      const Sizes sizes = sizes_to_check(plan).front();
      const auto unroll_plan = [&](std::size_t, std::uint32_t launches) {
        return unroll(plan, "plan", sizes, launches);
      };
      const PlanDecision decision =
          judge_unrollings("plan", 1, launches_to_check(plan), unroll_plan, {});
      compare(decision, by_orders(unroll_plan, launches_to_check(plan)), plan.name, counts);
    }
  }
  MESSAGE(counts.valid << " valid, " << counts.invalid << " invalid, " << counts.open << " open");
  CHECK(counts.valid > 15);
  CHECK(counts.invalid > 10);
}

}  // namespace p2::onesided
