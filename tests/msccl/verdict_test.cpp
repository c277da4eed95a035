#include <functional>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/msccl/algorithm_file.h"
#include "engine/msccl/verdict.h"
#include "schedules.h"

namespace p2::msccl {
namespace {

using Change = std::function<void(Algorithm&)>;

std::string verdict_of(const Algorithm& algorithm) {
  const Verdict verdict = judge(read_algorithm("test.xml", to_xml(algorithm)), {});
  return std::string(verdict.fault ? to_string(verdict.fault->kind) : to_string(verdict.kind));
}

std::vector<Step>& steps(Algorithm& algorithm, std::uint32_t gpu, std::uint32_t block) {
  return algorithm.gpus[gpu].blocks[block].steps;
}

void drop(std::vector<Step>& from, std::ptrdiff_t index) { from.erase(from.begin() + index); }

void swap_contents(Step& a, Step& b) {
  std::swap(a, b);
  std::swap(a.number, b.number);
}

struct Mutant {
  const char* name;
  Algorithm original;
  Change change;
  const char* verdict;
};

std::vector<Mutant> mutants() {
  return {
      {"a receive dropped", ring_allreduce(3), [](Algorithm& a) { steps(a, 0, 0).pop_back(); },
       "unmatched-send"},
      {"a send dropped", ring_allreduce(3), [](Algorithm& a) { drop(steps(a, 0, 0), 0); },
       "unmatched-receive"},
      {"a copy dropped", direct_reduce_scatter(3), [](Algorithm& a) { drop(steps(a, 0, 0), 0); },
       "missing-data"},
      {"sent before it is there", ring_allgather(3),
       [](Algorithm& a) {
         a.in_place = false;
         swap_contents(steps(a, 1, 0)[0], steps(a, 1, 0)[1]);
       },
       "missing-data"},
      {"offsets swapped", ring_allgather(4),
       [](Algorithm& a) {
         std::swap(steps(a, 0, 0)[2].destination, steps(a, 0, 0)[3].destination);
       },
       "wrong-chunk"},
      {"receives reordered", exchange(2, 1, Protocol::LL),
       [](Algorithm& a) { swap_contents(steps(a, 0, 1)[2], steps(a, 0, 1)[3]); }, "wrong-chunk"},
      {"a sum doubled", direct_reduce_scatter(3),
       [](Algorithm& a) {
         Step again = steps(a, 0, 0).back();
         ++again.number;
         steps(a, 0, 0).push_back(again);
       },
       "double-count"},
      {"a sum in place of a copy", ring_allreduce(3),
       [](Algorithm& a) {
         steps(a, 1, 0).back().type = StepType::ReceiveReduceCopy;
         steps(a, 1, 0).back().source = steps(a, 1, 0).back().destination;
         a.out_of_place = false;
       },
       "double-count"},
      {"a copy in place of a sum", ring_allreduce(3),
       [](Algorithm& a) { steps(a, 1, 0)[2].type = StepType::ReceiveCopySend; },
       "lost-contribution"},
      {"a sum dropped", direct_reduce_scatter(3), [](Algorithm& a) { steps(a, 2, 2).pop_back(); },
       "lost-contribution"},
      {"a dependency removed", direct_reduce_scatter(3),
       [](Algorithm& a) { drop(steps(a, 0, 0), 1); }, "data-race"},
      {"a sum that nobody reads twice at once", pairwise_alltoall(3),
       [](Algorithm& a) { steps(a, 0, 0)[0].destination.offset = 1; }, "data-race"},
      {"a race through aliasing only", pairwise_alltoall(3),
       [](Algorithm& a) {
         // Out of place this reads an input that nobody writes.
         steps(a, 0, 0).push_back({StepType::Copy, 1, {Buffer::Input, 1}, {Buffer::Scratch, 0}, 1});
         a.gpus[0].chunks[2] = 1;
       },
       "data-race"},
      {"overlap inside a step", exchange(1, 2, Protocol::LL),
       [](Algorithm& a) {
         steps(a, 0, 0)[0].source = {Buffer::Output, 1};
         steps(a, 0, 0)[0].destination = {Buffer::Output, 0};
       },
       "data-race"},
      {"nothing announced", direct_reduce_scatter(3),
       [](Algorithm& a) { steps(a, 0, 1)[1].publishes = false; }, "never-published"},
      {"a wait for a thread block that is not there", direct_reduce_scatter(3),
       [](Algorithm& a) { steps(a, 0, 0)[1].waits_for->block = 9; }, "never-published"},
      {"everybody receives first", ring_allgather(3),
       [](Algorithm& a) {
         for (std::uint32_t gpu = 0; gpu < 3; ++gpu) {
           swap_contents(steps(a, gpu, 0)[1], steps(a, gpu, 0)[3]);
         }
       },
       "order-deadlock"},
      {"a cycle of dependencies", direct_reduce_scatter(3),
       [](Algorithm& a) {
         steps(a, 0, 0)[0].publishes = true;
         steps(a, 0, 0)[0].waits_for = {1, 1};
         steps(a, 0, 1)[0].waits_for = {0, 0};
       },
       "dependency-deadlock"},
      {"a thread block that waits for itself", direct_reduce_scatter(3),
       [](Algorithm& a) {
         steps(a, 0, 1)[1].waits_for = {1, 1};
       },
       "dependency-deadlock"},
      {"more sent than a connection holds", exchange(3, 1, Protocol::LL),
       [](Algorithm& a) { a.protocol = Protocol::Simple; }, "capacity-deadlock"},
      {"past the declared buffer", ring_allreduce(3),
       [](Algorithm& a) { steps(a, 0, 0)[0].source.offset = 3; }, "out-of-bounds"},
      {"from inside the declared buffer to past it", exchange(1, 2, Protocol::LL),
       [](Algorithm& a) { steps(a, 0, 1)[0].source.offset = 3; }, "out-of-bounds"},
      {"before the buffer", ring_allreduce(3),
       [](Algorithm& a) { steps(a, 0, 0)[0].source.offset = -1; }, "out-of-bounds"},
      {"declared larger than the caller's", ring_allreduce(3),
       [](Algorithm& a) {
         a.gpus[0].chunks[0] = 9;
         steps(a, 0, 0)[0].source.offset = 3;
       },
       "out-of-bounds"},
      {"counts that differ", exchange(1, 2, Protocol::LL),
       [](Algorithm& a) { steps(a, 0, 1)[0].count = 1; }, "count-mismatch"},
      {"a connection with two senders", exchange(2, 1, Protocol::LL),
       [](Algorithm& a) {
         Step moved = steps(a, 0, 1)[1];
         drop(steps(a, 0, 1), 1);
         a.gpus[0].blocks.push_back({2, 1, std::nullopt, 0, {moved}});
       },
       "shared-connection"},
      {"no peer", ring_allreduce(3), [](Algorithm& a) { a.gpus[0].blocks[0].send_peer.reset(); },
       "no-peer"},
      {"a residual add", ring_allreduce(3),
       [](Algorithm& a) {
         steps(a, 0, 0).push_back(
             {StepType::ResidualAdd, 9, {Buffer::Input, 0}, {Buffer::Output, 0}, 1});
       },
       "unknown"},
      {"a collective of their own", ring_allreduce(3),
       [](Algorithm& a) { a.collective = "custom"; }, "unknown"},
      {"a race in a collective of their own", direct_reduce_scatter(3),
       [](Algorithm& a) {
         a.collective = "custom";
         drop(steps(a, 0, 0), 1);
       },
       "data-race"},
  };
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

TEST_CASE("every mutant is refused for what was done to it") {
  for (Mutant& mutant : mutants()) {
    CAPTURE(mutant.name);
    Algorithm algorithm = mutant.original;
    REQUIRE(verdict_of(algorithm) == "valid");
    mutant.change(algorithm);
    CHECK(verdict_of(algorithm) == mutant.verdict);
  }
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
