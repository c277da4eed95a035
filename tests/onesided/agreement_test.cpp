#include <cstdlib>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/onesided/judge.h"
#include "engine/onesided/text_plan.h"
#include "p2/error.h"
#include "tests/onesided/plans.h"

namespace p2::onesided {
namespace {

std::string word(const UnrollingDecision& decision) {
  if (decision.violation) return std::string(to_string(decision.violation->rule));
  return decision.open ? decision.open->name : "valid";
}

/// Compares the two engines about one text; it need not be a plan.
void compare(const std::string& text, const ExplorerOptions& options, Counts& counts) {
  std::optional<TextPlan> plan;
  std::variant<Unrolling, Violation> unrolled = Violation{};
  try {
    plan = read_text_plan("plan", text);
    unrolled = unroll(*plan, "plan", launches_to_check(*plan));
  } catch (const InputError&) {
    ++counts.unread;
    return;
  }
  const PlanDecision decision = judge(*plan, "plan", {});
  const auto* const unrolling = std::get_if<Unrolling>(&unrolled);
  if (unrolling == nullptr) {
    CHECK(decision.outcome == Outcome::Refuted);
    ++counts.invalid;
    return;
  }
  const Limits limits;
  LimitWatch watch(limits, "test");
  const UnrollingDecision explored = explore(*unrolling, options, watch);
  const bool unknown = decision.open == "unknown-collective";
  if ((decision.outcome == Outcome::Undecided && !unknown) ||
      (explored.open && explored.open->name != "unknown-collective")) {
    ++counts.open;
    return;
  }
  const bool refuted = decision.outcome == Outcome::Refuted;
  ++(refuted ? counts.invalid : counts.valid);
  CHECK_MESSAGE(refuted == explored.violation.has_value(),
                fmt::format("{}graph: {} {}\nexplorer: {} {}", text,
                            refuted ? to_string(decision.violation->rule) : "valid",
                            refuted ? decision.violation->reason : "", word(explored),
                            explored.violation ? explored.violation->reason : ""));
}

}  // namespace

TEST_CASE("small plans are right in all interleavings") {
  for (const std::string& text : small_plans()) {
    const PlanDecision decision = judge(read_text_plan("plan", text), "plan", {});
    CHECK_MESSAGE(decision.outcome == Outcome::Established,
                  text << (decision.violation ? decision.violation->reason : decision.reason));
  }
}

TEST_CASE("the explorer, without reduction, agrees with the graph about small plans") {
  Counts counts;
  for (const std::string& text : small_plans()) {
    compare(text, {.all_interleavings = true, .max_states = 1500}, counts);
  }
  CHECK(counts.valid >= 4);
  CHECK(counts.unread == 0);
}

TEST_CASE("the explorer agrees with the graph about random plans") {
  // The campaign runs more: P2_PLANS=100000.
  const char* const given = std::getenv("P2_PLANS");
  const std::uint64_t wanted = given != nullptr ? std::strtoull(given, nullptr, 10) : 3000;
  const std::vector<std::string> plans = small_plans();
  Counts counts;
  for (std::uint64_t seed = 0; seed < wanted; ++seed) {
    compare(mutated(plans[seed % plans.size()], seed), {.max_states = 2000}, counts);
  }
  MESSAGE(counts.valid << " valid, " << counts.invalid << " invalid, " << counts.open << " open, "
                       << counts.unread << " no plans");
  CHECK(counts.valid * 10 > wanted);
  CHECK(counts.invalid * 3 > wanted);
  CHECK((counts.open + counts.unread) * 3 < wanted);
}

TEST_CASE("the launches that are examined stand for more of them") {
  const char* const given = std::getenv("P2_PLANS");
  const std::uint64_t wanted = given != nullptr ? std::strtoull(given, nullptr, 10) : 1500;
  constexpr std::uint32_t kMore = 4;
  const std::vector<std::string> plans = small_plans();
  Counts counts;
  for (std::uint64_t seed = 0; seed < wanted; ++seed) {
    const std::string text = mutated(plans[seed % plans.size()], seed + 5000000);
    try {
      const TextPlan plan = read_text_plan("plan", text);
      const std::uint32_t launches = launches_to_check(plan);
      const auto unroll_for = [&](std::size_t, std::uint32_t count) {
        return unroll(plan, "plan", count);
      };
      const PlanDecision few = judge(plan, "plan", {});
      const PlanDecision many = judge_unrollings("plan", 1, launches + kMore, unroll_for, {});
      if (few.outcome == Outcome::Undecided || many.outcome == Outcome::Undecided) {
        ++counts.open;
        continue;
      }
      ++(few.outcome == Outcome::Refuted ? counts.invalid : counts.valid);
      CHECK_MESSAGE(few.outcome == many.outcome,
                    text << (few.violation ? few.violation->reason : many.violation->reason));
    } catch (const InputError&) {
      ++counts.unread;
    }
  }
  CHECK(counts.valid * 10 > wanted);
  CHECK(counts.invalid * 3 > wanted);
}

}  // namespace p2::onesided
