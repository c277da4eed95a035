// The order of events that operations of different thread blocks agree on: barriers, queues of
// proxies, signals and the waits that they end, packets and the polls that see them.

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "engine/onesided/ordering.h"
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

/// A store to a group that has the block's own source in it writes back what it read there.
bool Ordering::writes_back(const Access& write) const {
  const Statement& statement = nodes_[write.node].operation->statements[write.statement];
  return !statement.sources.empty() && statement.sources.front().polled &&
         statement.sources.size() == 1 && statement.sources.front().first == write.start &&
         statement.targets.size() > 1;
}

bool Ordering::is_packet(const Access& access) const {
  return access.writes && access.packets && !nodes_[access.node].is_user();
}

bool Ordering::sees(const Access& poll, const Access& write) const {
  return poll.polled && poll.cell == poll.start + 2 * poll.element && is_packet(write) &&
         nodes_[write.node].launch == nodes_[poll.node].launch && !writes_back(write);
}

std::vector<Ordering::Feed> Ordering::forwarded_packets(LimitWatch& watch) const {
  std::vector<Feed> feeds;
  for (Cell cell = 0; cell < unrolling_.cells; ++cell) {
    const auto [first, last] = accesses_of(cell);
    for (const Access* poll = first; poll != last; ++poll) {
      for (const Access* packet = first; poll->polled && packet != last; ++packet) {
        const bool forwards = nodes_[packet->node].forwards || nodes_[poll->node].forwards;
        if (!forwards || !sees(*poll, *packet)) continue;
        watch.require_growth(feeds, 1);
        feeds.push_back({packet, poll});
      }
    }
  }
  return feeds;
}

/// A poll sees the one packet that has the flag of its launch.
void Ordering::follow_packets() {
  std::vector<std::uint64_t> seen;  // pairs of nodes that are joined
  // By poll and rank that it sees packets of: the elements that see one.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint64_t>> elements;
  for (Cell cell = 0; cell < unrolling_.cells; ++cell) {
    const auto [first, last] = accesses_of(cell);
    const Access* poll = std::find_if(first, last, [](const Access& each) { return each.polled; });
    for (const Access* a = first; a != last && !overwritten_; ++a) {
      if (!is_packet(*a)) continue;
      for (const Access* b = a + 1; b != last; ++b) {
        if (!is_packet(*b) || nodes_[a->node].launch != nodes_[b->node].launch) continue;
        if (writes_back(*a) || writes_back(*b)) continue;
        overwritten_ = Overwrite{a->node, b->node, cell};
        break;
      }
    }
    const Access* const plain =
        std::find_if(first, last, [](const Access& each) { return each.writes && !each.packets; });
    if (poll != last && plain != last && !doubtful_) {
      doubtful_ = Overwrite{plain->node, poll->node, cell};
    }
    for (; poll != last; ++poll) {
      if (!poll->polled || poll->cell != poll->start + 2 * poll->element) continue;
      bool is_fed = false;
      for (const Access* a = first; a != last; ++a) {
        if (!sees(*poll, *a)) continue;
        is_fed = true;
        seen.push_back(std::uint64_t{a->node} << 32U | poll->node);
        elements[{poll->node, nodes_[a->node].rank}].insert(std::uint64_t{poll->statement} << 32U |
                                                            poll->element);
      }
      if (!is_fed) unfed_.push_back(*poll);
    }
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (const std::uint64_t pair : seen) {
    const auto poll = static_cast<std::uint32_t>(pair);
    const Node& writer = nodes_[pair >> 32U];
    const Node& reader = nodes_[poll];
    const std::uint64_t count = reader.operation->elements();
    // An element goes on before the others have seen their packets.
    const bool by_all = elements[{poll, writer.rank}].size() == count;
    const Event from = writer.is_transfer() ? writer.after : writer.own;
    add_memory(begins_[writer.rank][static_cast<std::size_t>(writer.launch)],
               by_all ? reader.own : event_after(reader), EdgeKind::Message);
    // A packet that is forwarded follows what its own element has seen, not the others.
    (writer.forwards ? edges_.forwarded : edges_.packets)
        .push_back({from, reader.own, EdgeKind::Message});
  }
}

/// The first event before which all elements of an operation have been executed.
Event Ordering::event_after(const Node& node) const {
  if (!unrolling_.blocks[node.block].single_thread) return node.before;
  const Event next = node.own + 1;
  const bool in_launch = next < process_.size() && process_[next] == node.block &&
                         nodes_[node_of_event_[next]].launch == node.launch;
  return in_launch ? next : ends_[node.rank][static_cast<std::size_t>(node.launch)];
}

}  // namespace p2::onesided
