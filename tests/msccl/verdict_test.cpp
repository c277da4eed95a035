#include <chrono>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/msccl/algorithm_file.h"
#include "engine/msccl/verdict.h"
#include "schedules.h"

namespace p2::msccl {
namespace {

std::string verdict_of(const Algorithm& algorithm) {
  const Verdict verdict = judge(read_algorithm("test.xml", to_xml(algorithm)), {});
  return std::string(verdict.fault ? to_string(verdict.fault->kind) : to_string(verdict.kind));
}

std::vector<Step>& steps(Algorithm& algorithm, std::uint32_t gpu, std::uint32_t block) {
  return algorithm.gpus[gpu].blocks[block].steps;
}

}  // namespace

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
  const Verdict verdict = judge(algorithm, {});
  REQUIRE(verdict.fault);
  CHECK(verdict.fault->steps == std::vector<StepPlace>{{0, 1, 1}, {0, 0, 2}});
  CHECK(verdict.fault->cell == Cell{0, Buffer::Scratch, 1});
  // What has to run before both can, and nothing else.
  CHECK(verdict.fault->schedule ==
        std::vector<StepPlace>{{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {0, 0, 1}});
}

TEST_CASE("a wrong cell comes with the steps that made it") {
  Algorithm algorithm = direct_reduce_scatter(2);
  steps(algorithm, 0, 0).pop_back();
  const Verdict verdict = judge(algorithm, {});
  REQUIRE(verdict.fault);
  CHECK(verdict.fault->kind == Fault::Kind::LostContribution);
  CHECK(verdict.fault->cell == Cell{0, Buffer::Output, 0});
  CHECK(verdict.fault->steps == std::vector<StepPlace>{{0, 0, 0}});
  CHECK(verdict.fault->reason == "At the end o[0] of gpu 0 lacks chunk 0 of rank 1.");
}

TEST_CASE("the steps of a deadlock form a cycle") {
  Algorithm algorithm = exchange(3, 1, Protocol::Simple);
  const Verdict verdict = judge(algorithm, {});
  REQUIRE(verdict.fault);
  REQUIRE(verdict.fault->cycle.size() == 4);
  CHECK(verdict.fault->cycle[0].step == StepPlace{0, 1, 2});
  CHECK(verdict.fault->cycle[0].before == Before::Order);
  CHECK(verdict.fault->cycle[1].step == StepPlace{0, 1, 3});
  CHECK(verdict.fault->cycle[1].before == Before::Capacity);
}

TEST_CASE("messages that make a connection full are named") {
  // Two messages of 3 chunks fit into a connection of 2 only while each is one transmission.
  const Algorithm algorithm = exchange(2, 3, Protocol::Simple);
  const Verdict verdict = judge(algorithm, {});
  REQUIRE(verdict.kind == Verdict::Kind::Valid);
  REQUIRE(verdict.safe_sizes->most_bytes);
  CHECK(*verdict.safe_sizes->most_bytes == 12 * (transmission_bytes(Protocol::Simple) / 3));
  CHECK(verdict.safe_sizes->above->kind == Fault::Kind::CapacityDeadlock);
  CHECK(!verdict.safe_sizes->cover(algorithm));
  Algorithm small = algorithm;
  small.max_bytes = verdict.safe_sizes->most_bytes;
  CHECK(verdict.safe_sizes->cover(small));
  // The protocol with room for 8 holds all 6 chunks.
  CHECK(!judge(exchange(2, 3, Protocol::LL), {}).safe_sizes->most_bytes);
}

TEST_CASE("a verdict that runs out of time is unknown") {
  Limits limits;
  limits.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  CHECK(judge(ring_allreduce(4), limits).kind == Verdict::Kind::Unknown);
}

}  // namespace p2::msccl
