#include "engine/onesided/ordering.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "p2/error.h"

namespace p2::onesided {

using transfer::Edge;
using transfer::EdgeKind;
using transfer::Event;
using transfer::kNoEvent;
using OpKind = Operation::Kind;

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
  struct Fences {
    Event release = kNoEvent;        ///< for all ranks
    Event local_release = kNoEvent;  ///< for blocks of the own rank
  };
  std::map<std::uint32_t, Fences> fences = {};         ///< by lane
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
  nodes_[index].forwards =
      operation.kind == OpKind::Compute && operation.polls() && operation.elements() > 1;
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
        release_of_[index] = operation.local ? state.fences[operation.lane].local_release
                                             : state.fences[operation.lane].release;
      }
      break;
    case OpKind::Wait:
      if (acquires(operation.order)) acquire_of_[index] = event;
      if (operation.order == Order::Relaxed) state.relaxed_waits.push_back(index);
      break;
    case OpKind::Fence:
      if (releases(operation.order)) {
        state.fences[operation.lane].local_release = event;
        if (!operation.local) state.fences[operation.lane].release = event;
      }
      if (acquires(operation.order)) {
        std::erase_if(state.relaxed_waits, [&](std::uint32_t wait) {
          const Operation& waited = *nodes_[wait].operation;
          const bool reached = waited.lane == operation.lane && (!operation.local || waited.local);
          if (reached) acquire_of_[wait] = event;
          return reached;
        });
      }
      break;
    default:
      break;
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
  if (time) {
    add(edges_.forwarded);
    // What never ends is on a cycle of itself.
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
    return node.launch < 0 ? fmt::format("the caller on {} {} (before launch 0)",
                                         unrolling_.rank_word, node.rank)
                           : fmt::format("the caller on {} {} (after launch {})",
                                         unrolling_.rank_word, node.rank, node.launch);
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
