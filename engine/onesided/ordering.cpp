#include "engine/onesided/ordering.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "p2/error.h"

namespace p2::onesided {

using transfer::Edge;
using transfer::EdgeKind;
using transfer::Event;
using transfer::kNoEvent;
using OpKind = Operation::Kind;

namespace {

constexpr std::size_t kMaxAccesses = std::size_t{1} << 26U;

}  // namespace

/// What is open while the operations of a block are added.
struct Ordering::BlockState {
  struct Pushed {
    const Operation* operation;
    std::uint32_t node;
    Event push;
  };
  std::uint32_t number = 0;
  std::uint32_t rank = 0;
  std::uint32_t launch = 0;
  std::uint32_t segment = 0;
  Event meet = kNoEvent;                      ///< the last one
  Event last = kNoEvent;                      ///< in program order
  std::vector<std::uint32_t> eventless = {};  ///< nodes since then
  std::vector<Event> open = {};               ///< events of the segment
  std::vector<std::uint32_t> nodes = {};      ///< nodes of the segment
  std::map<std::uint32_t, Event> lanes = {};
  std::vector<Pushed> pushed = {};
  Event release_fence = kNoEvent;                      ///< for all ranks
  Event local_release_fence = kNoEvent;                ///< for blocks of the own rank
  std::vector<std::uint32_t> relaxed_waits = {};       ///< nodes that wait for an acquiring fence
  std::map<std::uint32_t, std::uint32_t> passes = {};  ///< by barrier
};

Event Ordering::add_event(std::uint32_t process, std::uint32_t node) {
  if (process_.size() == kNoEvent) {
    throw LimitReached(LimitReached::Kind::Size, "more than 2^32 - 1 events");
  }
  process_.push_back(process);
  node_of_event_.push_back(node);
  chains_.chain.push_back(transfer::kNoChain);
  chains_.position.push_back(0);
  return static_cast<Event>(process_.size() - 1);
}

Ordering::Ordering(const Unrolling& unrolling, LimitWatch& watch) : unrolling_(unrolling) {
  counters_.resize(unrolling.counters.size());
  queue_items_.resize(unrolling.queues.size());
  barrier_meets_.resize(unrolling.barriers);
  chain_lengths_.resize(unrolling.ranks + unrolling.blocks.size());
  add_ranks();
  for (std::uint32_t b = 0; b < unrolling.blocks.size(); ++b) {
    add_block(b);
    watch.check();
  }
  join_barriers();
  chains_.count = static_cast<std::uint32_t>(chain_lengths_.size());
  order_queues();
  chains_.count = static_cast<std::uint32_t>(chain_lengths_.size());
  chain_programs();
  match_counters();
  collect_accesses(watch);
  follow_packets();
}

/// The user's access, begin and end of all launches of a rank, in stream order.
void Ordering::add_ranks() {
  const auto blocks = static_cast<std::uint32_t>(unrolling_.blocks.size());
  for (std::uint32_t r = 0; r < unrolling_.ranks; ++r) {
    auto& begins = begins_.emplace_back();
    auto& ends = ends_.emplace_back();
    Event last = kNoEvent;
    const auto add = [&](std::uint32_t node) {
      const Event event = add_event(blocks + r, node);
      chains_.append(event, r, chain_lengths_);
      if (last != kNoEvent) add_memory(last, event, EdgeKind::Program);
      return last = event;
    };
    for (std::int32_t launch = -1; launch < static_cast<std::int32_t>(unrolling_.launches);
         ++launch) {
      if (launch >= 0) {
        begins.push_back(add(kNone));
        ends.push_back(add(kNone));
      }
      const Event user = add(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back({nullptr, kNone, r, launch, 0, user, user, user, user, user});
    }
  }
}

void Ordering::add_block(std::uint32_t number) {
  const Block& block = unrolling_.blocks[number];
  BlockState state;
  state.number = number;
  state.rank = block.rank;
  const auto end_launch = [&] {
    const Event end = ends_[block.rank][state.launch];
    add_memory(state.meet, end, EdgeKind::Program);
    for (const Event event : state.open) add_memory(event, end, EdgeKind::Program);
    for (const std::uint32_t node : state.nodes) nodes_[node].before = end;
    for (const std::uint32_t node : std::exchange(state.eventless, {})) nodes_[node].next = end;
    if (state.last != kNoEvent) edges_.program.push_back({state.last, end, EdgeKind::Program});
  };
  const auto begin_launch = [&](std::uint32_t launch) {
    state.launch = launch;
    state.meet = begins_[block.rank][launch];
    state.last = state.meet;
    state.open.clear();
    state.nodes.clear();
    state.lanes.clear();
    ++state.segment;
  };
  auto operation = block.operations.begin();
  for (std::uint32_t launch = 0; launch < unrolling_.launches; ++launch) {
    begin_launch(launch);
    for (; operation != block.operations.end() && operation->launch == launch; ++operation) {
      add_operation(number, *operation, state);
    }
    end_launch();
  }
  // What was pushed occurs by itself, each as a process of its own.
  const auto processes = static_cast<std::uint32_t>(unrolling_.blocks.size()) + unrolling_.ranks;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> chains;  // by queue and lane
  for (const BlockState::Pushed& each : state.pushed) {
    Node& node = nodes_[each.node];
    const Event item =
        add_event(processes + static_cast<std::uint32_t>(process_.size()), each.node);
    const auto [chain, is_new] =
        chains.try_emplace({each.operation->object, each.operation->lane},
                           static_cast<std::uint32_t>(chain_lengths_.size()));
    if (is_new) chain_lengths_.push_back(0);
    chains_.append(item, chain->second, chain_lengths_);
    add_memory(each.push, item, EdgeKind::Dependency);
    queue_items_[each.operation->object].push_back(
        {each.push, item, number, node.segment, each.operation->lane, false});
    if (each.operation->kind == OpKind::Push) {
      node.after = node.before = node.previous = node.next = item;
    } else {
      node.own = item;
      release_of_[each.node] = releases(each.operation->order) ? item : kNoEvent;
    }
  }
}

void Ordering::add_operation(std::uint32_t number, const Operation& operation, BlockState& state) {
  const bool single = unrolling_.blocks[number].single_thread;
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({&operation, number, state.rank, static_cast<std::int32_t>(operation.launch),
                    state.segment, state.meet, kNoEvent, kNoEvent, kNoEvent, kNoEvent});
  release_of_.resize(nodes_.size(), kNoEvent);
  acquire_of_.resize(nodes_.size(), kNoEvent);
  const auto follow = [&](Event event) {  // program order
    edges_.program.push_back({state.last, event, EdgeKind::Program});
    state.last = event;
    for (const std::uint32_t node : std::exchange(state.eventless, {})) nodes_[node].next = event;
    nodes_[index].previous = nodes_[index].next = event;
  };
  const auto add_meet = [&] {
    const Event meet = add_event(number, index);
    chains_.append(meet, unrolling_.ranks + number, chain_lengths_);
    add_memory(state.meet, meet, EdgeKind::Program);
    for (const Event event : state.open) add_memory(event, meet, EdgeKind::Program);
    for (const std::uint32_t node : state.nodes) nodes_[node].before = meet;
    follow(meet);
    state.open.clear();
    state.nodes.clear();
    state.lanes.clear();
    state.meet = meet;
    ++state.segment;
    return meet;
  };
  if (operation.kind == OpKind::Meet) {
    nodes_[index].own = nodes_[index].after = nodes_[index].before = add_meet();
    return;
  }
  if (operation.kind == OpKind::Barrier) {
    nodes_[index].own = nodes_[index].after = nodes_[index].before = add_meet();
    const Event leave = add_event(number, index);
    chains_.append(leave, unrolling_.ranks + number, chain_lengths_);
    add_memory(state.meet, leave, EdgeKind::Program);
    follow(leave);
    auto& all = barrier_meets_[operation.object];
    const std::uint32_t pass = state.passes[operation.object]++;
    if (all.size() <= pass) all.resize(pass + 1);
    all[pass].push_back(state.meet);
    all[pass].push_back(leave);
    state.meet = leave;
    return;
  }
  const bool lane_op = operation.kind != OpKind::Compute;
  if (!single && !lane_op && !operation.packets) {  // ordered by the meets around it
    state.nodes.push_back(index);
    state.eventless.push_back(index);
    nodes_[index].previous = state.last;
    return;
  }
  const Event event = add_event(number, index);
  nodes_[index].own = event;
  if (single) {
    chains_.append(event, unrolling_.ranks + number, chain_lengths_);
    add_memory(state.meet, event, EdgeKind::Program);
    nodes_[index].after = nodes_[index].before = event;
    state.meet = event;
    ++state.segment;
  } else {
    add_memory(state.meet, event, EdgeKind::Program);
    if (lane_op) {
      const auto [lane, is_new] = state.lanes.try_emplace(operation.lane, event);
      if (!is_new) add_memory(std::exchange(lane->second, event), event, EdgeKind::Program);
    }
    nodes_[index].after = event;
    state.open.push_back(event);
    state.nodes.push_back(index);
  }
  follow(event);
  switch (operation.kind) {
    case OpKind::Push:
    case OpKind::PushSignal:
      state.pushed.push_back({&operation, index, event});
      break;
    case OpKind::Flush:
      // Before the items of this block have events: order_queues() sorts by push.
      queue_items_[operation.object].push_back(
          {event, event, number, nodes_[index].segment, operation.lane, true});
      break;
    case OpKind::Signal:
      if (releases(operation.order)) {
        release_of_[index] = event;
      } else if (operation.order == Order::Relaxed) {
        release_of_[index] = operation.local ? state.local_release_fence : state.release_fence;
      }
      break;
    case OpKind::Wait:
      if (acquires(operation.order)) acquire_of_[index] = event;
      if (operation.order == Order::Relaxed) state.relaxed_waits.push_back(index);
      break;
    case OpKind::Fence:
      if (releases(operation.order)) {
        state.local_release_fence = event;
        if (!operation.local) state.release_fence = event;
      }
      if (acquires(operation.order)) {
        std::erase_if(state.relaxed_waits, [&](std::uint32_t wait) {
          const bool reached = !operation.local || nodes_[wait].operation->local;
          if (reached) acquire_of_[wait] = event;
          return reached;
        });
      }
      break;
    default:
      break;
  }
}

/// All blocks arrive before any leaves.
void Ordering::join_barriers() {
  const auto processes = static_cast<std::uint32_t>(unrolling_.blocks.size()) + unrolling_.ranks;
  for (const auto& passes : barrier_meets_) {
    for (const std::vector<Event>& meets : passes) {
      const Event joint = add_event(processes + static_cast<std::uint32_t>(process_.size()), kNone);
      for (std::size_t i = 0; i < meets.size(); i += 2) {
        add_memory(meets[i], joint, EdgeKind::Dependency);
        add_memory(joint, meets[i + 1], EdgeKind::Dependency);
      }
    }
  }
}

void Ordering::chain_programs() {
  const std::uint32_t ranks = unrolling_.ranks;
  const auto blocks = static_cast<std::uint32_t>(unrolling_.blocks.size());
  program_chains_ = chains_;
  std::vector<std::uint32_t> lengths(blocks);
  for (Event event = 0; event < process_.size(); ++event) {
    const std::uint32_t block = process_[event];
    if (block >= blocks) continue;
    program_chains_.chain[event] = ranks + block;
    program_chains_.position[event] = ++lengths[block];
  }
}

/// What is pushed to one queue in program order completes in that order; a flush ends after all
/// that was pushed before it. Pushes of one segment are ordered lane by lane. Blocks that share a
/// queue order nothing for each other.
void Ordering::order_queues() {
  for (std::vector<QueueItem>& items : queue_items_) {
    std::stable_sort(items.begin(), items.end(), [](const QueueItem& a, const QueueItem& b) {
      return std::pair(a.block, a.push) < std::pair(b.block, b.push);
    });
    std::map<std::uint32_t, Event> earlier;  // by lane, the last item of earlier segments
    std::map<std::uint32_t, Event> now;      // of this one
    for (std::size_t i = 0; i < items.size(); ++i) {
      const QueueItem& item = items[i];
      if (i > 0 && items[i - 1].block != item.block) {
        earlier.clear();
        now.clear();
      } else if (i > 0 && items[i - 1].segment != item.segment && !now.empty()) {
        earlier = std::move(now);
        now.clear();
      }
      const auto before = now.find(item.lane);
      if (before != now.end()) add_memory(before->second, item.item, EdgeKind::Dependency);
      // The last of the lane may not follow what other lanes pushed in earlier segments.
      if (before == now.end() || item.flush) {
        for (const auto& [lane, event] : earlier) {
          add_memory(event, item.item, EdgeKind::Dependency);
        }
      }
      if (!item.flush) now[item.lane] = item.item;
    }
  }
}

void Ordering::match_counters() {
  struct Place {
    std::uint32_t block;
    std::uint32_t segment;
    std::uint32_t lane;
    bool proxied;
  };
  std::vector<std::optional<Place>> last_signal(counters_.size());
  std::vector<std::optional<Place>> last_wait(counters_.size());
  const auto is_ordered = [](std::optional<Place>& last, const Place& now) {
    const bool ordered = !last || (last->block == now.block && last->proxied == now.proxied &&
                                   (last->segment != now.segment || last->lane == now.lane));
    last = now;
    return ordered;
  };
  std::vector<std::uint64_t> expected(counters_.size());
  // Absolute expectations, by counter: the largest of launches 0 and 1.
  std::vector<std::array<std::uint64_t, 2>> absolute(counters_.size());
  for (std::uint32_t index = 0; index < nodes_.size(); ++index) {
    const Node& node = nodes_[index];
    if (node.is_user()) continue;
    const Operation& operation = *node.operation;
    const Place place{node.block, node.segment, operation.lane,
                      operation.kind == OpKind::PushSignal};
    if (operation.kind == OpKind::Signal || operation.kind == OpKind::PushSignal) {
      const std::uint32_t c =
          operation.kind == OpKind::Signal ? operation.object : operation.counter;
      if (!is_ordered(last_signal[c], place)) counters_[c].signals_ordered = false;
      counters_[c].signals.push_back({index, node.own, 0});
      if (node.launch == 0) ++counters_[c].signals_per_launch;
    } else if (operation.kind == OpKind::Wait) {
      const std::uint32_t c = operation.object;
      if (!is_ordered(last_wait[c], place)) counters_[c].waits_ordered = false;
      expected[c] = operation.threshold ? *operation.threshold : expected[c] + operation.amount;
      const std::uint64_t initial = unrolling_.counters[c].initial;
      counters_[c].waits.push_back(
          {index, node.own, expected[c] > initial ? expected[c] - initial : 0});
      if (operation.threshold && node.launch < 2) {
        std::uint64_t& largest = absolute[c][static_cast<std::size_t>(node.launch)];
        largest = std::max(largest, *operation.threshold);
      } else if (node.launch == 0) {
        counters_[c].waits_per_launch += operation.amount;
      }
    }
  }
  for (std::uint32_t c = 0; c < counters_.size(); ++c) {
    CounterUses& uses = counters_[c];
    if (uses.waits.empty()) continue;
    const std::uint64_t rise =
        absolute[c][1] > absolute[c][0] ? absolute[c][1] - absolute[c][0] : 0;
    uses.waits_per_launch = std::max(uses.waits_per_launch, rise);
    if (!uses.is_deterministic()) {
      ambiguous_.push_back(c);
      continue;
    }
    for (const CounterUse& wait : uses.waits) {
      if (wait.number == 0) continue;
      if (wait.number > uses.signals.size()) {
        unmatched_.push_back(wait.node);
      } else {
        match(c, uses.signals[wait.number - 1], wait);
      }
    }
  }
  edges_.memory.insert(edges_.memory.end(), matched_.memory.begin(), matched_.memory.end());
  edges_.surplus = std::move(matched_.surplus);
  edges_.signals = std::move(matched_.signals);
  edges_.surplus_signals = std::move(matched_.surplus_signals);
  matched_ = {};
}

void Ordering::match(std::uint32_t counter, const CounterUse& signal, const CounterUse& wait) {
  const bool surplus = counters_[counter].has_surplus();
  (surplus ? matched_.surplus_signals : matched_.signals)
      .push_back({signal.event, wait.event, EdgeKind::Message});
  std::vector<Edge>& memory = surplus ? matched_.surplus : matched_.memory;
  const Node& sender = nodes_[signal.node];
  const Event release = release_of_[signal.node];
  const Event acquire = acquire_of_[wait.node];
  if (release != kNoEvent && acquire != kNoEvent) {
    memory.push_back({release, acquire, EdgeKind::Message});
  }
  // Relaxed: the sender has begun, so its earlier launch and its user are over.
  if (sender.operation->order != Order::None && nodes_[wait.node].operation->order != Order::None) {
    memory.push_back({begins_[sender.rank][static_cast<std::size_t>(sender.launch)], wait.event,
                      EdgeKind::Message});
  }
}

void Ordering::forget_matches() { matched_ = {}; }

/// A counting sort of all accesses by cell.
void Ordering::collect_accesses(LimitWatch& watch) {
  const auto for_each = [&](const auto& visit) {
    for (std::uint32_t index = 0; index < nodes_.size(); ++index) {
      const Node& node = nodes_[index];
      if (node.is_user()) {
        for (const Space& space : unrolling_.spaces) {
          if (!space.user || space.rank != node.rank) continue;
          for (std::uint32_t k = 0; k < space.cells; ++k) {
            visit(Access{space.first + k, space.first, index, k, 0, true, false, false});
          }
        }
        continue;
      }
      const auto add = [&](const Operand& operand, std::size_t statement, bool writes) {
        for (std::uint32_t k = 0; k < operand.count; ++k) {
          const Access access{operand.cell(k),
                              operand.first,
                              index,
                              k,
                              static_cast<std::uint16_t>(statement),
                              writes,
                              operand.packets,
                              operand.polled};
          visit(access);
          if (!operand.packets) continue;
          Access second = access;
          ++second.cell;
          visit(second);
        }
      };
      for (std::size_t s = 0; s < node.operation->statements.size(); ++s) {
        const Statement& statement = node.operation->statements[s];
        for (const Operand& operand : statement.sources) add(operand, s, false);
        for (const Operand& operand : statement.targets) add(operand, s, true);
      }
    }
  };
  starts_.assign(std::size_t{unrolling_.cells} + 1, 0);
  for_each([&](const Access& access) { ++starts_[access.cell + 1]; });
  for (std::size_t c = 1; c < starts_.size(); ++c) starts_[c] += starts_[c - 1];
  if (starts_.back() > kMaxAccesses) {
    throw LimitReached(LimitReached::Kind::Size, "more than 2^26 accesses to cells");
  }
  watch.require_room(starts_.back() * sizeof(Access));
  accesses_.resize(starts_.back());
  std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
  for_each([&](const Access& access) { accesses_[next[access.cell]++] = access; });
}

/// A poll sees the one packet that has the flag of its launch.
void Ordering::follow_packets() {
  std::vector<std::uint64_t> seen;  // pairs of nodes that are joined
  for (Cell cell = 0; cell < unrolling_.cells; ++cell) {
    const auto [first, last] = accesses_of(cell);
    const Access* poll = std::find_if(first, last, [](const Access& each) { return each.polled; });
    const auto is_packet = [&](const Access& each) {
      return each.writes && each.packets && !nodes_[each.node].is_user();
    };
    // A store to a group that has the block's own source in it writes back what it read there.
    const auto writes_back = [&](const Access& access) {
      const Statement& statement = nodes_[access.node].operation->statements[access.statement];
      return !statement.sources.empty() && statement.sources.front().polled &&
             statement.sources.size() == 1 && statement.sources.front().first == access.start &&
             statement.targets.size() > 1;
    };
    for (const Access* a = first; a != last && !overwritten_; ++a) {
      if (!is_packet(*a)) continue;
      for (const Access* b = a + 1; b != last; ++b) {
        if (!is_packet(*b) || nodes_[a->node].launch != nodes_[b->node].launch) continue;
        if (writes_back(*a) || writes_back(*b)) continue;
        overwritten_ = Overwrite{a->node, b->node, cell};
        break;
      }
    }
    for (; poll != last; ++poll) {
      if (!poll->polled || poll->cell != poll->start + 2 * poll->element) continue;
      const Node& reader = nodes_[poll->node];
      bool is_fed = false;
      for (const Access* a = first; a != last; ++a) {
        if (!is_packet(*a) || nodes_[a->node].launch != reader.launch || writes_back(*a)) continue;
        is_fed = true;
        seen.push_back(std::uint64_t{a->node} << 32U | poll->node);
      }
      if (!is_fed) unfed_.push_back(*poll);
    }
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (const std::uint64_t pair : seen) {
    const Node& writer = nodes_[pair >> 32U];
    const Node& reader = nodes_[pair & 0xffffffffU];
    const Event from = writer.is_transfer() ? writer.after : writer.own;
    add_memory(begins_[writer.rank][static_cast<std::size_t>(writer.launch)], reader.own,
               EdgeKind::Message);
    edges_.packets.push_back({from, reader.own, EdgeKind::Message});
  }
}

transfer::HappensBefore Ordering::graph(Graph kind) const {
  transfer::GraphBuilder builder;
  const bool time = kind == Graph::Time;
  builder.reserve(process_.size(), edges_.memory.size() + edges_.program.size());
  for (Event event = 0; event < process_.size(); ++event) {
    builder.add_event(time ? process_[event] : event);
  }
  const auto add = [&](const std::vector<Edge>& edges) {
    for (const Edge& edge : edges) builder.add_edge(edge.from, edge.to, edge.kind);
  };
  add(edges_.memory);
  add(matched_.memory);
  if (kind == Graph::MemoryWithSurplus) {
    add(edges_.surplus);
    add(matched_.surplus);
  }
  if (kind >= Graph::Program) add(edges_.program);
  const bool occurrence = kind == Graph::Occurrence;
  if (kind >= Graph::Signals || occurrence) {
    add(edges_.signals);
    add(matched_.signals);
  }
  if (kind >= Graph::Signals) {
    add(edges_.surplus_signals);
    add(matched_.surplus_signals);
  }
  if (time || occurrence) add(edges_.packets);
  if (time) {  // what never ends is on a cycle of itself
    for (const Access& poll : unfed_) {
      const Event event = nodes_[poll.node].own;
      builder.add_edge(event, event, EdgeKind::Dependency);
    }
    for (const std::uint32_t wait : unmatched_) {
      builder.add_edge(nodes_[wait].own, nodes_[wait].own, EdgeKind::Dependency);
    }
  }
  return std::move(builder).build();
}

std::string Ordering::describe(std::uint32_t index) const {
  const Node& node = nodes_[index];
  if (node.is_user()) {
    return node.launch < 0
               ? fmt::format("the user of {} {} before launch 0", unrolling_.rank_word, node.rank)
               : fmt::format("the user of {} {} after launch {}", unrolling_.rank_word, node.rank,
                             node.launch);
  }
  return onesided::describe(unrolling_, *node.operation);
}

Happening Ordering::happening(std::uint32_t index) const {
  const Node& node = nodes_[index];
  if (node.is_user()) return {describe(index), {}};
  return onesided::happening(unrolling_, *node.operation);
}

std::string Ordering::describe_event(Event event) const {
  if (node_of_event_[event] != kNone) return describe(node_of_event_[event]);
  for (std::uint32_t r = 0; r < unrolling_.ranks; ++r) {
    for (std::size_t k = 0; k < unrolling_.launches; ++k) {
      if (begins_[r][k] == event)
        return fmt::format("begin of launch {} on {} {}", k, unrolling_.rank_word, r);
      if (ends_[r][k] == event)
        return fmt::format("end of launch {} on {} {}", k, unrolling_.rank_word, r);
    }
  }
  return "a barrier";
}

}  // namespace p2::onesided
