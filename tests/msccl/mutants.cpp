#include "mutants.h"

namespace p2::msccl {
namespace {

std::vector<Step>& steps(Algorithm& algorithm, std::uint32_t gpu, std::uint32_t block) {
  return algorithm.gpus[gpu].blocks[block].steps;
}

void drop(std::vector<Step>& from, std::ptrdiff_t index) { from.erase(from.begin() + index); }

void swap_contents(Step& a, Step& b) {
  std::swap(a, b);
  std::swap(a.number, b.number);
}

}  // namespace

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

}  // namespace p2::msccl
