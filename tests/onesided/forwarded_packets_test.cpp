// Operations that poll several packets and forward each when it is there: whole operations may wait
// for each other where their elements do not.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "encodings/z3/queries.h"
#include "engine/onesided/judge.h"
#include "engine/onesided/text_plan.h"
#include "proofs/certificate/subject_certificates.h"
#include "tests/onesided/plans.h"

namespace p2::onesided {
namespace {

/// An operation of the random plans: the packets that it polls, none for one of the input, and the
/// first slot of equally many that it writes.
struct Forward {
  std::vector<std::uint32_t> polls;
  std::uint32_t target = 0;
};
using Blocks = std::vector<std::vector<Forward>>;

enum class Grain : std::uint8_t { WholeOperation, ElementInOrder, AnyElement };

/// Whether blocks that each run one operation after the other come to their ends.
bool ends(const Blocks& blocks, std::uint32_t slots, Grain grain) {
  std::vector<bool> arrived(slots);
  std::vector<std::size_t> next(blocks.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (next[b] == blocks[b].size()) continue;
      const Forward& operation = blocks[b][next[b]];
      const auto size = std::max<std::size_t>(operation.polls.size(), 1);
      const auto is_there = [&](std::size_t k) {
        return operation.polls.empty() || arrived[operation.polls[k]];
      };
      std::size_t there = 0;
      while (there < size && is_there(there)) ++there;
      for (std::size_t k = 0; k < size; ++k) {
        const bool goes_on = grain == Grain::WholeOperation   ? there == size
                             : grain == Grain::ElementInOrder ? k < there
                                                              : is_there(k);
        if (!goes_on || arrived[operation.target + k]) continue;
        arrived[operation.target + k] = true;
        changed = true;
      }
      if (there == size) {
        ++next[b];
        changed = true;
      }
    }
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (next[b] != blocks[b].size()) return false;
  }
  return true;
}

/// Every slot is written once, by blocks in any order.
Blocks random_blocks(std::mt19937_64& random, std::uint32_t slots) {
  Blocks blocks(1 + random() % 4);
  for (std::uint32_t slot = 0; slot < slots;) {
    Forward operation{{}, slot};
    const auto size =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(1 + random() % 3, slots - slot));
    if (slot > 0 && random() % 4 != 0) {
      const auto from = static_cast<std::uint32_t>(random() % (slots - size + 1));
      for (std::uint32_t k = 0; k < size; ++k) operation.polls.push_back(from + k);
    }
    slot += operation.polls.empty() ? 1 : size;
    auto& block = blocks[random() % blocks.size()];
    const auto place = static_cast<std::ptrdiff_t>(random() % (block.size() + 1));
    block.insert(block.begin() + place, std::move(operation));
  }
  return blocks;
}

std::string text_of(const Blocks& blocks, std::uint32_t slots) {
  std::string text = fmt::format(
      "plan sendrecv ranks 1\nbuffer a {} packets double\nrank 0 block 0:\n  copy o[0] <- i[0]\n",
      slots);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].empty()) continue;
    text += fmt::format("rank 0 block {}:\n", b + 1);
    for (const auto& [polls, target] : blocks[b]) {
      if (polls.empty()) {
        text += fmt::format("  put_packets a[{}] <- i[0]\n", target);
      } else {
        text += fmt::format("  put_packets a[{}..{}] <- a[{}..{}]\n", target,
                            target + polls.size() - 1, polls.front(), polls.back());
      }
    }
  }
  return text;
}

UnrollingDecision explored(const std::string& plan) {
  const auto unrolled = unroll(read_text_plan("plan", plan), "plan", 3);
  const Limits limits;
  LimitWatch watch(limits, "exploration");
  return explore(std::get<Unrolling>(unrolled), {}, watch);
}

/// The verdicts of all engines and of both certificates agree with what ends.
void check_plan(const std::string& text, bool whole, bool any_element) {
  CAPTURE(text);
  const auto decision = judge(read_text_plan("plan", text), "plan", {});
  const Outcome expected = !any_element ? Outcome::Refuted
                           : whole      ? Outcome::Established
                                        : Outcome::Undecided;
  CHECK_MESSAGE(decision.outcome == expected,
                (decision.violation ? decision.violation->reason : decision.reason));
  if (expected == Outcome::Refuted) {
    REQUIRE(decision.violation);
    CHECK(decision.violation->rule == Rule::Deadlock);
  }
  if (expected == Outcome::Undecided) CHECK(decision.open == "forwarded-packets");
  const auto unrolled = unroll(read_text_plan("plan", text), "plan", 3);
  const auto& unrolling = std::get<Unrolling>(unrolled);
  const UnrollingDecision found = explored(text);
  CHECK(!(found.violation && any_element));
  CHECK(!(!found.violation && !found.open && !whole));
  const Outcome solver = z3_encoding::judge(z3_encoding::OrdersQuery{&unrolling, {}}).outcome;
  CHECK(!(solver == Outcome::Refuted && any_element));
  CHECK(!(solver == Outcome::Established && !whole));
  for (const bool valid : {true, false}) {
    const bool made = onesided_certificate(text, valid, {}).index() == 0;
    CHECK(made == (valid ? whole : !any_element));
  }
}

}  // namespace

TEST_CASE("operations that forward each other's packets an element later are no deadlock") {
  const std::string head = R"(plan sendrecv ranks 2
buffer a 3 packets double
buffer b 2 packets double
rank all block 0:
  copy o[0] <- i[0]
rank 0 block 2:
  put_packets b@1[0..1] <- a[0..1]
)";
  const std::string first = "rank 0 block 1:\n  put_packets a@0[0] <- i[0]\n";
  const std::string second = "rank 0 block 1:\n  put_packets a@0[1] <- i[0]\n";
  // Each packet an element later; the same packet; each an element earlier.
  check_plan(head + first + "rank 1 block 1:\n  put_packets a@0[1..2] <- b[0..1]\n", false, true);
  check_plan(head + "rank 1 block 1:\n  put_packets a@0[0..1] <- b[0..1]\n", false, false);
  check_plan(head + second + "rank 1 block 1:\n  put_packets a@0[0] <- b[1]\n", false, true);
  // One by one in the text, too.
  check_plan(head + first +
                 "rank 1 block 1:\n  put_packets a@0[1] <- b[0]\n  put_packets a@0[2] <- b[1]\n",
             false, true);
  check_plan(head + first +
                 "rank 1 block 1:\n  put_packets a@0[2] <- b[1]\n  put_packets a@0[1] <- b[0]\n",
             false, false);
}

TEST_CASE("nor are they where signals end waits as the interleaving has it") {
  const std::string plan = R"(plan sendrecv ranks 1
buffer a 2 packets double
buffer b 2 packets double
buffer t 1
counter c
rank 0 block 0:
  copy o[0] <- i[0]
rank 0 block 1:
  put_packets a[0] <- i[0]
  wait c
  put_packets a[1] <- i[0]
rank 0 block 2:
  put_packets b[0..1] <- a[0..1]
rank 0 block 3:
  poll t[0] <- b[0]
  signal c @0
rank 0 block 4:
  signal c @0
rank 0 block 5:
  wait c
)";
  const auto decision = judge(read_text_plan("plan", plan), "plan", {});
  CHECK(decision.outcome == Outcome::Undecided);
  CHECK(decision.open == "forwarded-packets");
  for (const bool valid : {true, false}) CHECK(onesided_certificate(plan, valid, {}).index() == 1);
}

TEST_CASE("a deadlock is shown by operations that wait for each other element by element") {
  const std::string plan = R"(plan sendrecv ranks 1
buffer a 3 packets double
buffer b 2 packets double
buffer p 1 packets double
buffer q 1 packets double
rank 0 block 0:
  copy o[0] <- i[0]
rank 0 block 1:
  put_packets a[0] <- i[0]
rank 0 block 2:
  put_packets b[0..1] <- a[0..1]
rank 0 block 3:
  put_packets a[1..2] <- b[0..1]
rank 0 block 4:
  put_packets p[0] <- q[0]
rank 0 block 5:
  put_packets q[0] <- p[0]
)";
  const auto decision = judge(read_text_plan("plan", plan), "plan", {});
  REQUIRE(decision.violation);
  CHECK(decision.violation->rule == Rule::Deadlock);
  REQUIRE(decision.violation->happenings.size() == 2);
  for (const Happening& each : decision.violation->happenings) CHECK(each.where.line >= 14);
}

TEST_CASE("the explorer ends where operations of different launches forward to one packet") {
  const UnrollingDecision found = explored(R"(plan sendrecv ranks 2
buffer x 4 packets
buffer y 2 packets
buffer p 2 packets
buffer q 2 packets
rank 0 block 0:
  copy o[0] <- i[0]
rank 0 block 1:
  put_packets x@1[0..1] <- p[0..1]
rank 0 block 2:
  put_packets p@0[1] <- i[0]
rank 1 block 0:
  copy o[0] <- i[0]
rank 1 block 2:
  put_packets y@1[0..1] <- x[1..2]
rank 1 block 3:
  put_packets x@1[2..3] <- y[0..1]
rank 1 block 4:
  put_packets q@1[1] <- i[0]
  put_packets p@0[0] <- i[0]
rank 1 block 5:
  put_packets x@1[0..1] <- q[0..1]
)");
  CHECK((found.violation || found.open));
}

TEST_CASE("random plans that forward packets end as a simulation of their elements does") {
  std::size_t whole = 0, by_element = 0, stopped = 0;
  std::mt19937_64 random(7);
  for (int round = 0; round < 1500; ++round) {
    const auto slots = static_cast<std::uint32_t>(2 + random() % 6);
    const Blocks blocks = random_blocks(random, slots);
    const bool any_element = ends(blocks, slots, Grain::AnyElement);
    const bool is_whole = ends(blocks, slots, Grain::WholeOperation);
    ++(is_whole ? whole : any_element ? by_element : stopped);
    const std::string text = text_of(blocks, slots);
    check_plan(text, is_whole, any_element);
    // A run executes the elements of an operation in order.
    const auto unrolled = unroll(read_text_plan("plan", text), "plan", 2);
    const Limits limits;
    LimitWatch watch(limits, "simulation");
    const auto failure = find_failing_run(std::get<Unrolling>(unrolled), 2, watch);
    CHECK_MESSAGE(failure.has_value() != ends(blocks, slots, Grain::ElementInOrder), text);
  }
  MESSAGE(whole << " end, " << by_element << " element by element, " << stopped << " do not");
  CHECK(whole > 200);
  CHECK(by_element > 50);
  CHECK(stopped > 200);
}

}  // namespace p2::onesided
