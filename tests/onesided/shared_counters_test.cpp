// Certificates of plans in which several signals may serve one wait.
#include <cstdlib>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/onesided/judge.h"
#include "engine/onesided/text_plan.h"
#include "p2/error.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "tests/onesided/plans.h"

namespace p2::onesided {
namespace {

/// Whether every interleaving of so many launches is right, if the explorer finds out.
std::optional<bool> explored(const std::string& text, std::uint32_t launches) {
  const auto unrolled = unroll(read_text_plan("plan", text), "plan", launches);
  const auto* const unrolling = std::get_if<Unrolling>(&unrolled);
  if (unrolling == nullptr) return false;
  const Limits limits;
  LimitWatch watch(limits, "exploration");
  const UnrollingDecision found = explore(*unrolling, {.max_states = 4'000}, watch);
  if (found.violation) return false;
  return found.open ? std::nullopt : std::optional(true);
}

}  // namespace

TEST_CASE("certificates of random plans with shared counters say what the explorer finds") {
  const char* const given = std::getenv("P2_PLANS");
  const std::uint64_t wanted = given != nullptr ? std::strtoull(given, nullptr, 10) : 1500;
  std::map<std::string, std::size_t> counts;
  for (std::uint64_t seed = 0; seed < wanted; ++seed) {
    const std::string text = random_shared_plan(seed);
    const Outcome outcome = judge(read_text_plan("plan", text), "plan", {}).outcome;
    const bool valid = outcome == Outcome::Established;
    std::array<bool, 2> certified{};
    for (const bool claimed : {true, false})
      certified[claimed ? 1 : 0] = onesided_certificate(text, claimed, {}).index() == 0;
    CHECK_MESSAGE(!(certified[0] && certified[1]), text);
    if (outcome != Outcome::Undecided) {
      CHECK_MESSAGE(!certified[valid ? 0 : 1], text);
      ++counts[fmt::format("{}, {}certified", valid ? "valid" : "invalid",
                           certified[valid ? 1 : 0] ? "" : "not ")];
    }
    if (certified[1]) {
      for (const std::uint32_t launches : {1U, 3U, 5U}) {
        const auto right = explored(text, launches);
        CHECK_MESSAGE(right != false, text);
        if (right && launches == 3) ++counts["valid explored"];
      }
    }
    if (certified[0]) {
      // A fault of some number of launches.
      bool all_right = true, found = false;
      for (const std::uint32_t launches : {1U, 3U, 5U}) {
        const auto right = explored(text, launches);
        found = found || right == false;
        all_right = all_right && right == true;
      }
      CHECK_MESSAGE(!all_right, text);
      if (found) ++counts["invalid explored"];
    }
  }
  for (const auto& [what, count] : counts) MESSAGE(count << " " << what);
  CHECK(counts["valid, certified"] * 8 > wanted);
  CHECK(counts["invalid, certified"] * 3 > wanted);
  CHECK((counts["valid, not certified"] + counts["invalid, not certified"]) * 100 < wanted);
}

TEST_CASE("every rule about counters has a plan that needs it") {
  const std::string seen =
      "plan sendrecv ranks 2\nbuffer t 1\ncounter c\ncounter d\nrank 0:\n  copy o[0] <- i[0]\n";
  const std::string sees = "  wait d\nrank 1:\n  copy o[0] <- i[0]\n";
  const std::string takes = "  get t[0] <- i@0[0]\n  signal d @0\n";
  const struct {
    const char* rule;
    Outcome outcome;
    bool certified;
    std::string plan;
  } cases[] = {
      {"a relaxed signal shows that its sender has begun", Outcome::Established, true,
       seen + "  signal c @1 relaxed\n" + sees + "  wait c relaxed\n" + takes},
      {"one whose scope does not reach the other rank shows nothing", Outcome::Refuted, true,
       seen + "  signal c @1 relaxed gpu\n" + sees + "  wait c relaxed\n" + takes},
      {"nor does a wait whose scope does not", Outcome::Refuted, true,
       seen + "  signal c @1 relaxed\n" + sees + "  wait c relaxed gpu\n" + takes},
      {"a launch that needs signals of the next one stops if it is the last", Outcome::Refuted,
       true,
       R"(plan sendrecv ranks 2
counter c
rank all block 0:
  copy o[0] <- i[0]
rank 0 block 1:
  wait c >= 3
rank 1 block 1:
  signal c @0
rank 1 block 2:
  signal c @0
)"},
      {"where a block's thread waits, another one goes on", Outcome::Refuted, false,
       R"(plan sendrecv ranks 3
buffer q 1 packets double
buffer t 1
counter c
counter d
threads
rank all block 0:
  copy o[0] <- i[0]
rank 0 block 1:
  wait c >= 2
  signal d @1
rank 0 block 2:
  poll t[0] <- q[0]
  sync
  signal c @0
rank 1 block 1:
  wait d
  put_packets q@0[0] <- i[0]
rank 2 block 1:
  signal c @0
)"},
      {"outputs are not judged where elements of an operation differ in their order",
       Outcome::Refuted, false, R"(plan sendrecv ranks 2
buffer i 2
buffer a 2 packets double
buffer t 2
counter d
rank 0 block 0:
  copy o[0..1] <- i[0..1]
  put_packets a@1[0] <- i[0]
  wait d
rank 1 block 0:
  put_packets a[1] <- i[1]
  reduce t[0..1] <- a[0..1] + i@0[0..1]
  copy o[0..1] <- t[0..1]
  signal d @0
)"},
      {"a signal that may come after others does not precede the wait", Outcome::Refuted, true,
       R"(plan sendrecv ranks 1
buffer t 1
counter c
rank 0 block 0:
  copy o[0] <- i[0]
  copy t[0] <- i[0]
  signal c @0
rank 0 block 1:
  signal c @0
rank 0 block 2:
  wait c
  copy o[0] <- t[0]
  copy o[0] <- i[0]
  wait c
)"},
      {"a rank that nobody holds up may signal in any number of launches", Outcome::Undecided,
       false, R"(plan sendrecv ranks 3
buffer s 1
counter c
counter d per peer
rank 0:
  copy o[0] <- i[0]
  wait c += 8
  copy o[0] <- s[0]
  copy o[0] <- i[0]
  signal d @1
rank 1:
  copy o[0] <- i[0]
  put s@0[0] <- i[0]
  loop 7: signal c @0
  wait d from 0
rank 2:
  copy o[0] <- i[0]
  signal c @0
)"},
      {"a launch that needs what comes in the next one stops if it is the last", Outcome::Refuted,
       true, R"(plan sendrecv ranks 3
counter c
counter d per peer
rank 0:
  copy o[0] <- i[0]
  wait c += 2
  signal d @2
rank 1:
  copy o[0] <- i[0]
  signal c @0
rank 2:
  copy o[0] <- i[0]
  wait d from 0
  signal c @0
  signal c @0
)"},
      {"what a wait expects depends on which comes first", Outcome::Refuted, true,
       R"(plan sendrecv ranks 1
buffer t 1
counter c
rank 0 block 0:
  copy o[0] <- i[0]
  copy t[0] <- i[0]
  signal c @0
rank 0 block 1:
  signal c @0
rank 0 block 2:
  wait c
rank 0 block 3:
  wait c
  get t[0] <- t[0]
)"},
      {"a wait may have to expect what another one was to expect", Outcome::Refuted, true,
       R"(plan sendrecv ranks 1
counter c
rank 0 block 0:
  copy o[0] <- i[0]
  signal c @0
rank 0 block 1:
  wait c
  signal c @0
rank 0 block 2:
  wait c
)"},
      {"the counter's first value stands for signals", Outcome::Refuted, true,
       R"(plan sendrecv ranks 1
buffer t 1
counter c init 1
rank 0 block 0:
  copy o[0] <- i[0]
  copy t[0] <- i[0]
  signal c @0
rank 0 block 1:
  signal c @0
rank 0 block 2:
  wait c += 2
  get t[0] <- t[0]
)"},
      {"signals that are left over order nothing in the long run", Outcome::Refuted, true,
       R"(plan sendrecv ranks 1
buffer t 1
counter c
rank 0 block 0:
  copy o[0] <- i[0]
  copy t[0] <- i[0]
  signal c @0
rank 0 block 1:
  signal c @0
  signal c @0
rank 0 block 2:
  wait c += 3
  wait c += 0
  get t[0] <- t[0]
rank 0 block 3:
  signal c @0
)"},
      {"a packet that is forwarded has not seen those of other elements", Outcome::Undecided, false,
       R"(plan sendrecv ranks 5
buffer a 2 packets double
buffer b 2 packets double
buffer s 1
buffer t 2
counter c
counter e per peer
rank 0..3 block 0:
  copy o[0] <- i[0]
rank 0 block 1:
  put_packets a@1[0] <- i[0]
  wait e from 4
rank 1 block 1:
  put_packets b@3[0..1] <- a[0..1]
  wait e from 4
rank 2 block 1:
  put s@4[0] <- i[0]
  signal c @4
  put_packets a@1[1] <- i[0]
  wait e from 4
rank 3 block 1:
  poll t[0] <- b[0]
  signal c @4
  poll t[1] <- b[1]
  wait e from 4
rank 4 block 1:
  wait c
  copy o[0] <- s[0]
  copy o[0] <- i[0]
  wait c
  for p in 0..3: signal e @p
)"},
      {"what signals that are left over order in the first launches they do not in later ones",
       Outcome::Undecided, false, R"(plan sendrecv ranks 3
buffer s 1
counter c
counter d per peer
counter e per peer
rank all block 0:
  copy o[0] <- i[0]
rank 0 block 1:
  wait c
  get s[0] <- s[0]
  wait c
  signal e @1
  signal e @2
rank 1 block 0:
  put s@0[0] <- i[0]
  signal c @0
  loop 9: signal d @2
  wait e from 0
rank 2 block 0:
  loop 8: wait d from 1
  signal c @0
  wait e from 0
)"},
      {"which wait comes first may be open where the signals are in order", Outcome::Refuted, true,
       R"(plan sendrecv ranks 1
buffer t 1
counter c
rank 0 block 0:
  copy o[0] <- i[0]
  signal c @0
  copy t[0] <- i[0]
  signal c @0
rank 0 block 1:
  wait c
rank 0 block 2:
  wait c
  get t[0] <- t[0]
)"},
      {"two launches more show how far ahead a rank may be", Outcome::Established, true,
       R"(plan sendrecv ranks 3
buffer s 1
counter c
counter d per peer
counter e init 3 per peer
rank 0:
  copy o[0] <- i[0]
  wait c += 5
  get s[0] <- s[0]
  signal d @1
  signal e @2
rank 1:
  copy o[0] <- i[0]
  put s@0[0] <- i[0]
  loop 4: signal c @0
  wait d from 0
rank 2:
  copy o[0] <- i[0]
  wait e from 0
  signal c @0
)"},
      {"all waits take what is there together", Outcome::Established, true,
       R"(plan sendrecv ranks 1
buffer t 1
counter c
rank 0 block 0:
  copy o[0] <- i[0]
  copy t[0] <- i[0]
  signal c @0
  signal c @0
rank 0 block 1:
  wait c
  get t[0] <- t[0]
  barrier 1..2
rank 0 block 2:
  wait c
  barrier 1..2
)"},
      {"waits that come before raise what a wait expects", Outcome::Established, true,
       R"(plan sendrecv ranks 1
buffer t 1
counter c
rank 0 block 0:
  copy o[0] <- i[0]
  copy t[0] <- i[0]
  signal c @0
rank 0 block 1:
  signal c @0
rank 0 block 2:
  wait c
  barrier 2..3
rank 0 block 3:
  barrier 2..3
  wait c
  get t[0] <- t[0]
)"}};
  for (const auto& [rule, outcome, is_certified, plan] : cases) {
    CAPTURE(std::string(rule));
    const auto decision = judge(read_text_plan("plan", plan), "plan", {});
    CHECK_MESSAGE(decision.outcome == outcome,
                  (decision.violation ? decision.violation->reason : decision.reason));
    for (const bool valid : {true, false}) {
      const auto made = onesided_certificate(plan, valid, {});
      const bool expected =
          is_certified && outcome == (valid ? Outcome::Established : Outcome::Refuted);
      CHECK_MESSAGE((made.index() == 0) == expected,
                    (made.index() == 1 ? std::get<std::string>(made) : ""));
    }
  }
}

}  // namespace p2::onesided
