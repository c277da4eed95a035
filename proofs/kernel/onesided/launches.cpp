// Launches of a one-sided plan as events in a partial order: the order of a block, of its queues,
// of barriers and of counters.

#include <algorithm>

#include "proofs/kernel/onesided/plan.h"

namespace p2::kernel::plan {

Execution Launches::take() {
  for (std::uint32_t launch = 0; launch < launches_; ++launch) run_launch(launch);
  // What comes in later launches may end a wait of a shared counter as well.
  if (std::ranges::any_of(counters_, is_shared))
    for (std::uint32_t more = 0; more < 2; ++more) run_launch(launches_++);
  match_counters();
  join_barriers();
  return std::move(out_);
}

Use Launches::use(const Place& at, std::uint32_t event, std::uint32_t lane) const {
  const std::uint32_t segment = blocks_.at({at.rank, at.block}).segment;
  return {event, at.rank, at.launch, at.block, at.position, segment, lane};
}

std::uint32_t Launches::add(const Place& at, bool lane_op, std::uint32_t lane,
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
  if (single_threads_) meet_at(block, added);
  block.open.push_back(added);
  return block.last = added;
}

void Launches::meet_at(Block& block, std::uint32_t event) {
  for (const std::uint32_t each : block.open) {
    out_.order(each, event, Graph::Memory);
    out_.at(each).meet = event;
  }
  block = {event, event, ++segments_};
}

/// All threads of a block meet.
void Launches::meet(const Place& at) {
  Block& block = blocks_.at({at.rank, at.block});
  const std::uint32_t met = out_.add({at.name, at.rank, at.launch});
  out_.order(block.meet, met, Graph::Memory);
  meet_at(block, met);
}

/// What is pushed to the proxy happens by itself, on one channel in the order of pushes.
std::uint32_t Launches::push(const Place& at, std::uint32_t lane, std::uint32_t queue,
                             std::vector<Statement> statements) {
  const std::uint32_t pushed = add(at, true, lane);
  Event event{at.name + " transfer", at.rank, at.launch};
  event.statements = std::move(statements);
  const std::uint32_t item = out_.add(std::move(event));
  out_.order(pushed, item, Graph::Memory);
  const Use now = use(at, item, lane);
  if (!queues_[queue].empty()) {
    const Use& last = queues_[queue].back();
    if (!follows(last, now)) leave_open("two threads push on one channel, in no order");
    out_.order(last.event, item, Graph::Memory);
  }
  queues_[queue].push_back(now);
  return item;
}

/// Until all that was pushed to a queue is complete.
void Launches::flush(const Place& at, std::uint32_t lane, std::uint32_t queue) {
  const Use now = use(at, add(at, true, lane), lane);
  if (queues_[queue].empty()) return;
  const Use& last = queues_[queue].back();
  if (!follows(last, now)) leave_open("one thread flushes what another one pushes");
  out_.order(last.event, now.event, Graph::Memory);
}

void Launches::pass(const Place& at, Barrier& barrier) {
  for (int meets = 0; meets < 2; ++meets) {
    meet(at);
    barrier.passes[at.block].push_back(use(at, blocks_.at({at.rank, at.block}).meet, 0));
  }
}

void Launches::join_barriers() {
  for (const auto& [key, barrier] : barriers_) {
    const auto& first = barrier.passes.begin()->second;
    if (barrier.passes.size() != barrier.blocks) fail("a barrier of other thread blocks");
    for (const auto& [block, meets] : barrier.passes)
      if (meets.size() != first.size()) fail("a barrier that thread blocks pass unequally often");
    for (std::size_t k = 0; k < first.size(); k += 2) {
      const std::uint32_t joint = out_.add({"a barrier", 0, first[k].launch});
      for (const auto& [block, meets] : barrier.passes) {
        out_.order(meets[k].event, joint, Graph::Memory);
        out_.order(joint, meets[k + 1].event, Graph::Memory);
        if (meets[k].position != first[k].position)
          rounds_differ_ = "a barrier joins different rounds";
      }
    }
  }
}

bool Launches::is_in_order(const std::vector<Use>& uses) {
  return std::ranges::adjacent_find(uses, std::not_fn(follows)) == uses.end();
}
bool Launches::is_shared(const Counter& counter) {
  return !counter.waits.empty() && !(is_in_order(counter.signals) && is_in_order(counter.waits));
}

/// The k-th signal ends the wait that expects k.
void Launches::match_counters() {
  for (Counter& counter : counters_) {
    if (counter.waits.empty()) continue;
    std::uint64_t signals = 0, rise = 0, most = 0;  // of the first launch
    for (const Use& each : counter.signals) signals += each.launch == 0 ? 1 : 0;
    for (const Use& each : counter.waits) {
      if (each.launch == 0) most = std::max(most, rise = each.number);
    }
    if (counter.rise) rise = *counter.rise;
    if (signals < rise || signals + counter.initial < most)
      fail(out_.at(counter.waits.back().event).name + " waits more often than it is signalled");
    const auto in_rounds = [&](const std::vector<Use>& uses) {
      return std::ranges::count_if(uses, [&](const Use& use) { return in_round(use.position); });
    };
    const auto alike = [](const std::vector<Use>& uses) {
      return std::ranges::all_of(uses, [&](const Use& use) {
        return (use.ordering == kNone) == (uses[0].ordering == kNone);
      });
    };
    const auto rounds = in_rounds(counter.waits);
    if (in_rounds(counter.signals) != rounds)
      rounds_differ_ = "a round signals more or less often than it waits";
    if (rounds != 0 && !(alike(counter.signals) && alike(counter.waits)))
      rounds_differ_ = "a counter of rounds is relaxed in part";
    counter.surplus = signals > rise;
    counter.is_known = counter.rise || is_in_order(counter.waits);
    if (is_shared(counter)) {
      out_.shared.push_back(counter);
      continue;
    }
    for (const Use& wait : counter.waits) {
      if (wait.number <= counter.initial) continue;
      const Use& signal = counter.signals[wait.number - counter.initial - 1];
      out_.match(counter, signal, wait);
      if (signal.launch == wait.launch && signal.position > wait.position)
        rounds_differ_ = "a round waits for what comes after it";
    }
  }
}

/// All launches of a rank follow each other, with its user between them.
void Launches::run_launch(std::uint32_t launch) {
  const auto named = [](const char* what, std::uint32_t rank, std::uint32_t number) {
    return what + (" of launch " + std::to_string(number)) + " on gpu " + std::to_string(rank);
  };
  for (std::uint32_t r = 0; r < out_.users.size(); ++r) {
    const std::uint32_t begin = out_.add({named("begin", r, launch), r, launch});
    const auto add_user = [&](std::uint32_t ended) {
      return out_.add_user_access(named("the user before the begin", r, ended), r, ended);
    };
    out_.order(launch == 0 ? add_user(0) : out_.launches[r].back().second, begin, Graph::Memory);
    Numbers ends;
    for (const std::uint32_t b : numbers_[r]) {
      blocks_[{r, b}] = {begin, begin, ++segments_};
      run_block(r, b, launch);
      meet({r, b, launch, named("end", r, launch)});
      ends.push_back(blocks_.at({r, b}).meet);
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
