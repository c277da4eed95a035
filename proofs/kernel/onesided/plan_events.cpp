#include <algorithm>

#include "proofs/kernel/onesided/plan.h"

namespace p2::kernel::plan {

std::uint32_t Unroller::add(const Place& at, bool lane_op, std::uint32_t lane,
                            std::vector<Statement> statements, bool packets) {
  Block& block = blocks_.at({at.rank, at.block});
  Event event{at.name, at.rank, at.launch, block.segment};
  event.packets = packets;
  event.statements = std::move(statements);
  const std::uint32_t added = out_.add(std::move(event));
  out_.order(block.meet, added, Graph::Memory);
  out_.order(block.last, added, Graph::Program);
  if (lane_op) {
    const auto [last, is_new] = block.lanes.try_emplace(lane, added);
    if (!is_new) out_.order(std::exchange(last->second, added), added, Graph::Memory);
  }
  block.open.push_back(added);
  return block.last = added;
}

/// All threads of a block meet.
void Unroller::meet(const Place& at) {
  Block& block = blocks_.at({at.rank, at.block});
  const std::uint32_t met = out_.add({at.name, at.rank, at.launch});
  out_.order(block.meet, met, Graph::Memory);
  for (const std::uint32_t each : block.open) {
    out_.order(each, met, Graph::Memory);
    out_.at(each).meet = met;
  }
  block = {met, met, ++segments_, {}, {}};
}

/// What is pushed to the proxy happens by itself, on one channel in the order of pushes.
std::uint32_t Unroller::push(const Place& at, std::uint32_t lane, std::uint32_t queue,
                             std::vector<Statement> statements) {
  const std::uint32_t pushed = add(at, true, lane);
  Event event{at.name + " transfer", at.rank, at.launch};
  event.statements = std::move(statements);
  const std::uint32_t item = out_.add(std::move(event));
  out_.order(pushed, item, Graph::Memory);
  const Use now = use(at, item, lane, true);
  if (!queues_[queue].empty()) {
    const Use& last = queues_[queue].back();
    if (!follows(last, now)) leave_open("two threads push on one channel, in no order");
    out_.order(last.event, item, Graph::Memory);
  }
  queues_[queue].push_back(now);
  return item;
}

/// All launches of a rank follow each other, with its user between them.
void Unroller::run_launch(std::uint32_t launch) {
  const auto named = [](const char* what, std::uint32_t rank, std::uint32_t number) {
    return what + (" of launch " + std::to_string(number)) + " on gpu " + std::to_string(rank);
  };
  for (std::uint32_t r = 0; r < gpus_.size(); ++r) {
    const std::uint32_t begin = out_.add({named("begin", r, launch), r, launch});
    const auto add_user = [&](std::uint32_t ended) {
      Event event{named("the user before the begin", r, ended), r, ended};
      event.user = true;
      return out_.add(std::move(event));
    };
    out_.order(launch == 0 ? add_user(0) : out_.launches[r].back().second, begin, Graph::Memory);
    const List& blocks = list(list(plan_, "gpus")[r], "threadblocks");
    Numbers ends;
    for (std::uint32_t b = 0; b < blocks.size(); ++b) {
      if (launch == 0) check_block(blocks[b], r);
      if (number(blocks[b], "id") != b) fail("the id of a thread block is not its position");
      Block& block = blocks_[{r, b}];
      block = {begin, begin, ++segments_, {}, {}};
      const List& ops = list(blocks[b], "ops");
      for (std::size_t i = 0; i < ops.size(); ++i) {
        run_op(ops[i], {r, b, launch,
                        "gpu " + std::to_string(r) + " tb " + std::to_string(b) + " op " +
                            std::to_string(i) + " (" + text(ops[i], "name") + ") launch " +
                            std::to_string(launch)});
      }
      meet({r, b, launch, named("end", r, launch)});
      ends.push_back(block.meet);
    }
    const std::uint32_t end = out_.add({named("end", r, launch), r, launch});
    out_.order(begin, end, Graph::Memory);
    for (const std::uint32_t each : ends) out_.order(each, end, Graph::Memory);
    const std::uint32_t user = add_user(launch + 1);
    out_.order(end, user, Graph::Memory);
    out_.launches[r].emplace_back(begin, user);
  }
}

}  // namespace p2::kernel::plan
