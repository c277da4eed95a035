#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "engine/onesided/judge.h"
#include "engine/onesided/text_plan.h"
#include "tests/onesided/plans.h"

namespace p2::onesided {
namespace {

std::string example(const std::string& name) {
  std::ifstream file(std::string(P2_SOURCE_DIR) + "/examples/onesided/" + name);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

Unrolling unrolled(const std::string& text) {
  const TextPlan plan = read_text_plan("plan", text);
  return std::get<Unrolling>(unroll(plan, "plan", launches_to_check(plan)));
}

}  // namespace

TEST_CASE("valid plans have the right result with threads, refused ones are seen failing") {
  for (const char* const name :
       {"dispatch.plan", "oneshot-allreduce.plan", "overlapped-allgather.plan",
        "packets-allreduce.plan", "twoshot-switch-allreduce.plan"}) {
    const Unrolling launches = unrolled(example(name));
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      for (const bool late : {false, true}) {
        const auto failure = run_with_threads(launches, late, seed, {});
        CHECK_MESSAGE(!failure, name << ": " << failure->reason);
      }
    }
  }
  for (const char* const name :
       {"dispatch-no-flush.plan", "oneshot-no-handshake.plan", "twoshot-switch-relaxed.plan"}) {
    const Unrolling launches = unrolled(example(std::string("refused/") + name));
    bool fails = false;
    for (std::uint64_t seed = 0; seed < 200 && !fails; ++seed) {
      fails = run_with_threads(launches, true, seed, {}).has_value();
    }
    CHECK_MESSAGE(fails, name);
  }
}

TEST_CASE("no plan that is judged valid fails with threads") {
  std::size_t valid = 0;
  for (const std::string& plan : small_plans()) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const std::string text = seed == 0 ? plan : mutated(plan, seed);
      try {
        if (judge(read_text_plan("plan", text), "plan", {}).outcome != Outcome::Established) {
          continue;
        }
      } catch (const InputError&) {  // a change that leaves no plan
        continue;
      }
      ++valid;
      for (const bool late : {false, true}) {
        const auto failure = run_with_threads(unrolled(text), late, seed, {});
        CHECK_MESSAGE(!failure, text << failure->reason);
      }
    }
  }
  CHECK(valid > 15);
}

TEST_CASE("a plan that stops ends in a failed run") {
  const auto failure = run_with_threads(unrolled(R"(plan allreduce ranks 2
counter c per peer
rank all:
  for p in all except r: wait c from p
  for p in all except r: signal c @p
)"),
                                        false, 1, {});
  REQUIRE(failure);
  CHECK(failure->reason.find("never ends") != std::string::npos);
}

}  // namespace p2::onesided
