#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/onesided/judge.h"
#include "engine/onesided/plan.h"
#include "tests/onesided/plans.h"
#include "tests/shared_data.h"

namespace p2::onesided {
TEST_CASE("the engines agree about mutants of MSCCL++ plans, and no valid one fails in a run") {
  const auto text = shared_text("mscclpp/verdicts.csv");
  if (!text) return;
  constexpr std::size_t kMaxGpus = 8;
  constexpr std::uint64_t kMutants = 12;
  const Limits limits;
  LimitWatch watch(limits, "test");
  std::istringstream lines(*text);
  std::string line;
  std::getline(lines, line);
  std::size_t valid = 0;
  std::size_t invalid = 0;
  for (std::uint64_t number = 0; std::getline(lines, line); ++number) {
    const std::string file = line.substr(0, line.find(','));
    const auto plan_text = shared_text("mscclpp/" + file);
    if (!plan_text) continue;
    const auto read = read_plan(file, *plan_text);
    const auto* const plan = std::get_if<Plan>(&read);
    if (plan == nullptr || plan->gpus.size() > kMaxGpus) continue;
    for (std::uint64_t seed = 0; seed < kMutants; ++seed) {
      const Plan mutant = mutated(*plan, number * kMutants + seed);
      const std::vector<Sizes> sizes = sizes_to_check(mutant);
      const auto unrolled =
          unroll(mutant, file, sizes[seed % sizes.size()], launches_to_check(mutant));
      const auto* const unrolling = std::get_if<Unrolling>(&unrolled);
      if (unrolling == nullptr) continue;
      const UnrollingDecision decision = judge(*unrolling, limits);
      if (decision.open && decision.open->name == "ambiguous-match") continue;
      const bool refuted = decision.violation.has_value();
      if (!refuted) {
        const auto failure = find_failing_run(*unrolling, 4, watch);
        CHECK_MESSAGE(!failure, file << " mutant " << seed << ": " << failure->reason);
      }
      const UnrollingDecision explored = explore(*unrolling, {.max_states = 1000}, watch);
      if (explored.open && explored.open->name != "unknown-collective") continue;
      ++(refuted ? invalid : valid);
      CHECK_MESSAGE(refuted == explored.violation.has_value(),
                    fmt::format("{} mutant {}: {}, explorer {}", file, seed,
                                refuted ? decision.violation->reason : "valid",
                                explored.violation ? explored.violation->reason : "valid"));
    }
  }
  MESSAGE(valid << " valid, " << invalid << " invalid");
  CHECK(valid > 300);
  CHECK(invalid > 600);
}

}  // namespace p2::onesided
