#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/msccl/algorithm.h"
#include "engine/msccl/step_graph.h"
#include "engine/msccl/verdict.h"
#include "tests/msccl/schedules.h"

namespace p2::msccl {
namespace {

/// A correct algorithm, what is done to it, and the verdict then: a rule, or `unknown`.
struct Mutant {
  const char* name;
  Algorithm original;
  std::function<void(Algorithm&)> change;
  const char* verdict;
};

void drop(std::vector<Step>& from, std::ptrdiff_t index) { from.erase(from.begin() + index); }

void swap_contents(Step& a, Step& b) {
  std::swap(a, b);
  std::swap(a.number, b.number);
}

/// At least one for every rule.
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
      {"a wait for the step before the one that matters", direct_reduce_scatter(3),
       [](Algorithm& a) {
         steps(a, 0, 1)[0].publishes = true;
         steps(a, 0, 0)[1].waits_for->number = 0;
       },
       "data-race"},
      {"sent to the wrong neighbour", ring_allreduce(3),
       [](Algorithm& a) { a.gpus[0].blocks[0].send_peer = 2; }, "unmatched-receive"},
      {"on another channel than the receiver", ring_allreduce(3),
       [](Algorithm& a) { a.gpus[0].blocks[0].channel = 1; }, "unmatched-receive"},
      {"sends reordered", exchange(2, 1, Protocol::LL),
       [](Algorithm& a) { swap_contents(steps(a, 0, 1)[0], steps(a, 0, 1)[1]); }, "wrong-chunk"},
      {"announced by a nop", direct_reduce_scatter(3),
       [](Algorithm& a) {
         steps(a, 0, 1)[1].publishes = false;
         steps(a, 0, 1).push_back({StepType::Nop, 2, {}, {}, 0});
         steps(a, 0, 1).back().publishes = true;
         steps(a, 0, 0)[1].waits_for->number = 2;
       },
       "never-published"},
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

/// GPU 0 sends its chunk and gets the sum back; what it gets is written by another thread block,
/// which waits until the chunk was sent.
Algorithm there_and_back() {
  Algorithm algorithm = ring_allreduce(2);
  algorithm.chunks = 1;
  for (Gpu& gpu : algorithm.gpus) gpu = {{1, 1, 0}, {}};
  Step send{StepType::Send, 0, {Buffer::Input, 0}, {Buffer::Input, 0}, 1};
  send.publishes = true;
  Step receive{StepType::Receive, 0, {Buffer::Output, 0}, {Buffer::Output, 0}, 1};
  receive.waits_for = {0, 0};
  const Step sum{StepType::ReceiveReduceCopySend, 0, {Buffer::Input, 0}, {Buffer::Output, 0}, 1};
  algorithm.gpus[0].blocks = {{0, 1, {}, 0, {send}}, {1, {}, 1, 0, {receive}}};
  algorithm.gpus[1].blocks = {{0, 0, 0, 0, {sum}}};
  return algorithm;
}

/// The same algorithm with GPU g called `names[g]`.
void rename_gpus(Algorithm& algorithm, const std::vector<std::uint32_t>& names) {
  std::vector<Gpu> renamed(algorithm.gpus.size());
  for (std::size_t gpu = 0; gpu < renamed.size(); ++gpu) {
    for (ThreadBlock& block : algorithm.gpus[gpu].blocks) {
      if (block.send_peer) block.send_peer = names[*block.send_peer];
      if (block.receive_peer) block.receive_peer = names[*block.receive_peer];
    }
    renamed[names[gpu]] = algorithm.gpus[gpu];
  }
  algorithm.gpus = renamed;
}

/// Thread block b gets the id `id(b)`, step s the number `number(s)`.
template <typename Id, typename Number>
void renumber(Algorithm& algorithm, Id id, Number number) {
  for (Gpu& gpu : algorithm.gpus) {
    for (ThreadBlock& block : gpu.blocks) {
      block.id = id(block.id);
      for (Step& step : block.steps) {
        step.number = number(step.number);
        if (!step.waits_for) continue;
        step.waits_for = {id(step.waits_for->block), number(step.waits_for->number)};
      }
    }
  }
}

/// Changes that keep a correct algorithm correct; the verdict is `valid`.
std::vector<Mutant> near_misses() {
  const auto same = [](std::uint32_t number) { return number; };
  return {
      {"a dependency removed that a message makes redundant", there_and_back(),
       [](Algorithm& a) { steps(a, 0, 1)[0].waits_for.reset(); }, "valid"},
      {"a dependency said twice", direct_reduce_scatter(3),
       [](Algorithm& a) {
         steps(a, 0, 0)[2].waits_for = {1, 1};
       },
       "valid"},
      {"a wait for a step that is announced later only", direct_reduce_scatter(3),
       [](Algorithm& a) { steps(a, 0, 0)[1].waits_for->number = 0; }, "valid"},
      {"more scratch than needed", direct_reduce_scatter(3),
       [](Algorithm& a) {
         for (Gpu& gpu : a.gpus) gpu.chunks[2] = 50;
       },
       "valid"},
      {"thread blocks with other ids", direct_reduce_scatter(3),
       [=](Algorithm& a) {
         renumber(
             a, [](std::uint32_t id) { return 9 - id; }, same);
       },
       "valid"},
      {"steps with gaps between their numbers", direct_reduce_scatter(3),
       [=](Algorithm& a) { renumber(a, same, [](std::uint32_t s) { return 7 * s + 3; }); },
       "valid"},
      {"thread blocks in another order", direct_reduce_scatter(3),
       [](Algorithm& a) { std::reverse(a.gpus[1].blocks.begin(), a.gpus[1].blocks.end()); },
       "valid"},
      {"ranks permuted", ring_allreduce(4),
       [](Algorithm& a) {
         rename_gpus(a, {2, 0, 3, 1});
       },
       "valid"},
      {"another channel at both ends", ring_allreduce(3),
       [](Algorithm& a) {
         for (Gpu& gpu : a.gpus) gpu.blocks[0].channel = 5;
       },
       "valid"},
      {"a copy that nobody reads", direct_reduce_scatter(3),
       [](Algorithm& a) {
         steps(a, 0, 1).push_back({StepType::Copy, 2, {Buffer::Scratch, 1}, {Buffer::Scratch, 0}});
         steps(a, 0, 1).back().count = 1;
       },
       "valid"},
      {"as many messages as a connection holds", exchange(2, 1, Protocol::LL),
       [](Algorithm& a) { a.protocol = Protocol::Simple; }, "valid"},
      {"steps cut into single chunks", exchange(2, 3, Protocol::LL),
       [](Algorithm& a) { a = cut(a, 1); }, "valid"},
      {"out of place only", ring_allreduce(3), [](Algorithm& a) { a.in_place = false; }, "valid"},
  };
}

}  // namespace

TEST_CASE("every mutant is refused for what was done to it") {
  for (const Mutant& mutant : mutants()) {
    CAPTURE(mutant.name);
    Algorithm algorithm = mutant.original;
    REQUIRE(verdict_of(algorithm) == "valid");
    mutant.change(algorithm);
    CHECK(verdict_of(algorithm) == mutant.verdict);
  }
}

TEST_CASE("there is a mutant for every rule") {
  std::set<std::string> rules;
  for (const Mutant& mutant : mutants()) rules.insert(mutant.verdict);
  for (int kind = 0; kind <= static_cast<int>(Fault::Kind::LostContribution); ++kind) {
    CHECK(rules.contains(std::string(to_string(static_cast<Fault::Kind>(kind)))));
  }
}

TEST_CASE("near misses are accepted") {
  CHECK(near_misses().size() >= 8);
  for (const Mutant& mutant : near_misses()) {
    CAPTURE(mutant.name);
    Algorithm algorithm = mutant.original;
    REQUIRE(verdict_of(algorithm) == "valid");
    mutant.change(algorithm);
    REQUIRE(to_xml(algorithm) != to_xml(mutant.original));
    CHECK(verdict_of(algorithm) == mutant.verdict);
  }
}

TEST_CASE("every refutation can be replayed, and on the correct algorithm it cannot") {
  std::size_t replayed = 0;
  for (const Mutant& mutant : mutants()) {
    CAPTURE(mutant.name);
    Algorithm algorithm = mutant.original;
    mutant.change(algorithm);
    const AlgorithmDecision verdict = judge(algorithm, {});
    if (!verdict.violation) continue;
    CHECK(can_replay(algorithm, *verdict.violation));
    CHECK(!can_replay(mutant.original, *verdict.violation));
    ++replayed;
  }
  CHECK(replayed > 25);
}

TEST_CASE("a refutation of which a part is changed is none") {
  for (const Mutant& mutant : mutants()) {
    CAPTURE(mutant.name);
    Algorithm algorithm = mutant.original;
    mutant.change(algorithm);
    const AlgorithmDecision verdict = judge(algorithm, {});
    if (!verdict.violation) continue;
    const Fault& fault = *verdict.violation;

    Fault elsewhere = fault;
    for (StepPlace& place : elsewhere.steps) place.gpu = 99;
    if (!fault.steps.empty()) CHECK(!can_replay(algorithm, elsewhere));

    Fault other_kind = fault;
    other_kind.kind =
        fault.kind == Fault::Kind::DataRace ? Fault::Kind::OrderDeadlock : Fault::Kind::DataRace;
    CHECK(!can_replay(algorithm, other_kind));

    Fault unscheduled = fault;
    unscheduled.schedule.clear();
    if (!fault.schedule.empty()) CHECK(!can_replay(algorithm, unscheduled));

    Fault open = fault;
    if (!open.cycle.empty()) {
      open.cycle.pop_back();
      CHECK(!can_replay(algorithm, open));
    }
  }
}

}  // namespace p2::msccl
