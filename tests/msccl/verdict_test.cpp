#include <chrono>
#include <limits>
#include <random>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/msccl/algorithm.h"
#include "engine/msccl/verdict.h"
#include "tests/msccl/schedules.h"

namespace p2::msccl {

TEST_CASE("correct algorithms are valid, in place and not") {
  for (std::uint32_t n = 2; n <= 6; ++n) {
    for (const Algorithm& algorithm :
         {ring_allreduce(n), ring_allgather(n), pairwise_alltoall(n), direct_reduce_scatter(n),
          chain_broadcast(n), chain_reduce(n)}) {
      CAPTURE(algorithm.collective);
      CAPTURE(n);
      CHECK(verdict_of(algorithm) == "valid");
      Algorithm out_of_place = algorithm;
      out_of_place.in_place = false;
      CHECK(verdict_of(out_of_place) == "valid");
    }
  }
  Algorithm spelled_together = direct_reduce_scatter(2);
  spelled_together.collective = "reducescatter";
  CHECK(verdict_of(spelled_together) == "valid");
}

TEST_CASE("a counterexample names the steps and the cell") {
  Algorithm algorithm = direct_reduce_scatter(2);
  steps(algorithm, 0, 0)[1].waits_for.reset();
  const AlgorithmDecision verdict = judge(algorithm, {});
  REQUIRE(verdict.violation);
  CHECK(verdict.violation->steps == std::vector<StepPlace>{{0, 1, 1}, {0, 0, 2}});
  CHECK(verdict.violation->cell == Cell{0, Buffer::Scratch, 1});
  // What has to run before both can, and nothing else.
  CHECK(verdict.violation->schedule ==
        std::vector<StepPlace>{{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {0, 0, 1}});
}

TEST_CASE("a wrong cell comes with the steps that made it") {
  Algorithm algorithm = direct_reduce_scatter(2);
  steps(algorithm, 0, 0).pop_back();
  const AlgorithmDecision verdict = judge(algorithm, {});
  REQUIRE(verdict.violation);
  CHECK(verdict.violation->kind == Fault::Kind::LostContribution);
  CHECK(verdict.violation->cell == Cell{0, Buffer::Output, 0});
  CHECK(verdict.violation->steps == std::vector<StepPlace>{{0, 0, 0}});
  CHECK(verdict.violation->reason == "At the end o[0] of gpu 0 lacks chunk 0 of rank 1.");
}

TEST_CASE("the steps of a deadlock form a cycle") {
  Algorithm algorithm = exchange(3, 1, Protocol::Simple);
  const AlgorithmDecision verdict = judge(algorithm, {});
  REQUIRE(verdict.violation);
  REQUIRE(verdict.violation->cycle.size() == 4);
  CHECK(verdict.violation->cycle[0].step == StepPlace{0, 1, 2});
  CHECK(verdict.violation->cycle[0].before == EdgeKind::Program);
  CHECK(verdict.violation->cycle[1].step == StepPlace{0, 1, 3});
  CHECK(verdict.violation->cycle[1].before == EdgeKind::Capacity);
}

TEST_CASE("messages that make a connection full are named") {
  // Two messages of 3 chunks fit into a connection of 2 only while each is one transmission.
  const Algorithm algorithm = exchange(2, 3, Protocol::Simple);
  const AlgorithmDecision verdict = judge(algorithm, {});
  REQUIRE(verdict.outcome == Outcome::Established);
  REQUIRE(verdict.safe_sizes->max_bytes);
  CHECK(*verdict.safe_sizes->max_bytes == 12 * (transmission_bytes(Protocol::Simple) / 3));
  CHECK(verdict.safe_sizes->above->kind == Fault::Kind::CapacityDeadlock);
  CHECK(!verdict.safe_sizes->cover(algorithm));
  Algorithm small = algorithm;
  small.max_bytes = verdict.safe_sizes->max_bytes;
  CHECK(verdict.safe_sizes->cover(small));
  // The protocol with room for 8 holds all 6 chunks.
  CHECK(!judge(exchange(2, 3, Protocol::LL), {}).safe_sizes->max_bytes);
}

TEST_CASE("a verdict that runs out of time is unknown") {
  Limits limits;
  limits.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  CHECK(judge(ring_allreduce(4), limits).outcome == Outcome::Undecided);
}

TEST_CASE("sums count as a map of contributions does") {
  std::mt19937 random(1);
  for (int run = 0; run < 300; ++run) {
    Sum sum;
    std::map<Contribution, std::uint32_t> counts;
    for (int i = 0; i < 12; ++i) {
      Sum other;
      std::map<Contribution, std::uint32_t> added;
      if (random() % 4 == 0) {
        const auto ranks = static_cast<std::uint32_t>(random() % 6 + 1);
        other = Sum::of_all(ranks, 1);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) ++added[{rank, 1}];
      } else {
        const Contribution one{static_cast<std::uint32_t>(random() % 6),
                               static_cast<std::uint32_t>(random() % 3)};
        other = Sum(one);
        ++added[one];
      }
      if (random() % 3 == 0) {
        other.add(sum);
        for (const auto& [contribution, count] : counts) added[contribution] += count;
      }
      sum.add(other);
      for (const auto& [contribution, count] : added) counts[contribution] += count;
      REQUIRE(sum.counts() == counts);
    }
  }
}

TEST_CASE("equal sums are equal, however they were made") {
  Sum one(Contribution{0, 4});
  one.add(Sum(Contribution{2, 4}));
  one.add(Sum(Contribution{1, 4}));
  CHECK(one == Sum::of_all(3, 4));
  CHECK(one != Sum::of_all(3, 5));
  one.add(Sum(Contribution{1, 4}));
  CHECK(one != Sum::of_all(3, 4));
}

TEST_CASE("counts stop at the largest number") {
  Sum sum(Contribution{0, 0});
  for (int i = 0; i < 40; ++i) {
    const Sum half = sum;
    sum.add(half);
  }
  CHECK(sum.counts().begin()->second == std::numeric_limits<std::uint32_t>::max());
}

}  // namespace p2::msccl
