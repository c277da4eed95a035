#include <algorithm>

#include "mutants.h"

namespace p2::msccl {
namespace {

std::vector<Step>& steps(Algorithm& algorithm, std::uint32_t gpu, std::uint32_t block) {
  return algorithm.gpus[gpu].blocks[block].steps;
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

}  // namespace

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

}  // namespace p2::msccl
