#include "encodings/z3/onesided_events.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace p2::z3_encoding::orders {

using namespace onesided;
using OpKind = Operation::Kind;

Events::Events(const onesided::Unrolling& unrolling)
    : signals(unrolling.counters.size()),
      waits(unrolling.counters.size()),
      ordered(unrolling.counters.size(), true),
      surplus(unrolling.counters.size()),
      plan_(unrolling),
      queues_(unrolling.queues.size()) {
  for (std::uint32_t r = 0; r < plan_.ranks; ++r) {
    begins.emplace_back();
    ends_.emplace_back();
    Event last = add({.rank = r, .user = true});
    for (std::uint32_t launch = 0; launch < plan_.launches; ++launch) {
      const Event begin = add({.rank = r, .launch = launch});
      const Event end = add({.rank = r, .launch = launch});
      const Event user = add({.rank = r, .launch = launch + 1, .user = true});
      for (const Both& each : {Both{last, begin}, Both{begin, end}, Both{end, user}}) {
        always.push_back(each);
      }
      begins[r].push_back(begin);
      ends_[r].push_back(end);
      last = user;
    }
  }
  for (std::uint32_t b = 0; b < plan_.blocks.size(); ++b) add_block(b);
  order_queues();
  count_uses();
  collect_touches();
  follow_packets();
}

void Events::add_block(std::uint32_t number) {
  const onesided::Block& block = plan_.blocks[number];
  std::map<std::uint32_t, std::uint32_t> passes;  // by barrier
  // By lane: what the last releasing fence follows.
  std::map<std::uint32_t, std::optional<Event>> release;
  std::map<std::uint32_t, std::optional<Event>> local_release;
  std::vector<std::pair<std::uint32_t, std::size_t>> relaxed;  // waits that a fence may acquire
  auto operation = block.operations.begin();
  for (std::uint32_t launch = 0; launch < plan_.launches; ++launch) {
    Event meet = begins[block.rank][launch];
    Event last = meet;
    std::vector<Event> open;
    std::map<std::uint32_t, Event> lanes;
    ++segments_;
    for (; operation != block.operations.end() && operation->launch == launch; ++operation) {
      const bool meets = operation->kind == OpKind::Meet || operation->kind == OpKind::Barrier;
      Event event = 0;
      if (operation->kind == OpKind::Barrier) {
        const auto [found, is_new] =
            barriers_.try_emplace({operation->object, passes[operation->object]++}, 0);
        if (is_new) found->second = add({.rank = block.rank, .launch = launch});
        event = found->second;
      } else {
        event = add({&*operation, block.rank, number, segments_, launch});
      }
      always.push_back({meet, event});
      program.push_back({last, event});
      last = event;
      if (meets || block.single_thread) {
        for (const Event each : open) always.push_back({each, event});
        open.clear();
        lanes.clear();
        meet = event;
        ++segments_;
        if (meets) continue;
      } else {
        open.push_back(event);
        if (operation->kind != OpKind::Compute) {
          const auto [lane, is_new] = lanes.try_emplace(operation->lane, event);
          if (!is_new) always.push_back({std::exchange(lane->second, event), event});
        }
      }
      const auto push = [&] {
        EventInfo info = all[event];
        info.transfer = true;
        const Event item = add(info);
        always.push_back({event, item});
        queues_[operation->object].push_back({item, number, info.segment, operation->lane, false});
        return item;
      };
      const bool any = operation->order != Order::None;
      switch (operation->kind) {
        case OpKind::Push:
          push();
          break;
        case OpKind::PushSignal: {
          const Event item = push();
          signals[operation->counter].push_back(
              {item, operation->lane,
               releases(operation->order) ? std::optional(item) : std::nullopt, any});
          break;
        }
        case OpKind::Flush:
          queues_[operation->object].push_back(
              {event, number, all[event].segment, operation->lane, true});
          break;
        case OpKind::Signal: {
          Use use{event, operation->lane, {}, any};
          if (releases(operation->order)) use.fence = event;
          if (operation->order == Order::Relaxed) {
            use.fence =
                operation->local ? local_release[operation->lane] : release[operation->lane];
          }
          signals[operation->object].push_back(use);
          break;
        }
        case OpKind::Wait: {
          Use use{event, operation->lane, {}, any};
          if (acquires(operation->order)) use.fence = event;
          if (operation->order == Order::Relaxed) {
            relaxed.emplace_back(operation->object, waits[operation->object].size());
          }
          waits[operation->object].push_back(use);
          break;
        }
        case OpKind::Fence:
          if (releases(operation->order)) {
            local_release[operation->lane] = event;
            if (!operation->local) release[operation->lane] = event;
          }
          if (acquires(operation->order)) {
            std::erase_if(relaxed, [&](const auto& each) {
              Use& use = waits[each.first][each.second];
              const Operation& waited = *all[use.event].operation;
              const bool reached =
                  waited.lane == operation->lane && (!operation->local || waited.local);
              if (reached) use.fence = event;
              return reached;
            });
          }
          break;
        default:
          break;
      }
    }
    const Event end = ends_[block.rank][launch];
    always.push_back({meet, end});
    program.push_back({last, end});
    for (const Event each : open) always.push_back({each, end});
  }
}

void Events::order_queues() {
  for (const std::vector<Item>& items : queues_) {
    for (std::size_t j = 0; j < items.size(); ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        const Item& a = items[i];
        const Item& b = items[j];
        if (a.flush || a.block != b.block) continue;
        if (a.segment != b.segment || a.lane == b.lane) always.push_back({a.event, b.event});
      }
    }
  }
}

void Events::count_uses() {
  for (std::uint32_t c = 0; c < signals.size(); ++c) {
    if (waits[c].empty()) continue;
    for (std::size_t k = 1; k < waits[c].size(); ++k) {
      if (!follows(waits[c][k - 1], waits[c][k])) throw LeftOpen{};
    }
    for (std::size_t k = 1; k < signals[c].size(); ++k) {
      if (!follows(signals[c][k - 1], signals[c][k])) ordered[c] = false;
    }
    const auto of_launch = [&](const Use& use, std::uint32_t launch) {
      return all[use.event].launch == launch;
    };
    const auto given = static_cast<std::uint64_t>(
        std::ranges::count_if(signals[c], [&](const Use& each) { return of_launch(each, 0); }));
    std::uint64_t expected = 0;
    std::uint64_t after_first = 0;  // expectations at the ends of launches 0 and 1
    std::uint64_t after_second = 0;
    for (Use& wait : waits[c]) {
      const Operation& operation = *all[wait.event].operation;
      expected = operation.threshold ? *operation.threshold : expected + operation.amount;
      wait.number = expected > plan_.counters[c].initial ? expected - plan_.counters[c].initial : 0;
      if (of_launch(wait, 0)) after_first = expected;
      if (of_launch(wait, 1)) after_second = expected;
    }
    if (plan_.launches == 1) continue;  // of which nothing is left over for others
    const std::uint64_t taken = after_second > after_first ? after_second - after_first : 0;
    surplus[c] = given > taken;
    if (given < taken) is_refuted = true;
  }
}

void Events::collect_touches() {
  touches.resize(plan_.cells);
  const auto add_all = [&](Event event, std::size_t statement, const Operand& operand,
                           bool writes) {
    for (std::uint32_t k = 0; k < operand.count; ++k) {
      for (std::uint32_t half = 0; half < (operand.packets ? 2U : 1U); ++half) {
        touches[operand.cell(k) + half].push_back({event, operand.first, k,
                                                   static_cast<std::uint32_t>(statement), writes,
                                                   operand.packets, operand.polled});
      }
    }
  };
  for (Event e = 0; e < all.size(); ++e) {
    const EventInfo& info = all[e];
    if (info.user) {
      for (const Space& space : plan_.spaces) {
        if (space.user && space.rank == info.rank) {
          add_all(e, 0, {space.first, space.cells, false, false}, true);
        }
      }
    }
    // What is pushed accesses memory as a transfer only.
    if (info.operation == nullptr || (info.operation->kind == OpKind::Push && !info.transfer)) {
      continue;
    }
    for (std::size_t s = 0; s < info.operation->statements.size(); ++s) {
      for (const Operand& each : info.operation->statements[s].sources) add_all(e, s, each, false);
      for (const Operand& each : info.operation->statements[s].targets) add_all(e, s, each, true);
    }
  }
}

/// A poll sees the packet that is written in its launch.
void Events::follow_packets() {
  const auto writes_back = [&](const Touch& touch) {
    const Statement& statement = all[touch.event].operation->statements[touch.statement];
    return statement.sources.size() == 1 && statement.sources[0].polled &&
           statement.sources[0].first == touch.start && statement.targets.size() > 1;
  };
  std::set<std::pair<Event, Event>> seen;
  std::map<Event, std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>>> elements;
  for (const std::vector<Touch>& cell : touches) {
    const bool polled = std::ranges::any_of(cell, &Touch::polled);
    std::map<std::uint32_t, Event> packet;  // by launch
    for (const Touch& each : cell) {
      if (polled && each.writes && !each.packets) is_refuted = true;
      if (!each.writes || !each.packets || all[each.event].user || writes_back(each)) continue;
      if (!packet.emplace(all[each.event].launch, each.event).second) is_refuted = true;
    }
    for (const Touch& each : cell) {
      if (!each.polled) continue;
      const auto found = packet.find(all[each.event].launch);
      if (found == packet.end()) {
        is_refuted = true;
      } else {
        seen.emplace(found->second, each.event);
        elements[each.event].emplace(all[found->second].rank, each.statement, each.element);
      }
    }
  }
  for (const auto& [writer, poll] : seen) {
    // Elements that go on before others have seen their packets are no events here.
    const std::uint64_t count = all[poll].operation->elements();
    const bool polls = elements.contains(writer);
    forwards = forwards || (polls && all[writer].operation->elements() > 1);
    const auto by_rank = std::ranges::count_if(
        elements[poll], [&](const auto& each) { return std::get<0>(each) == all[writer].rank; });
    if (static_cast<std::uint64_t>(by_rank) != count) throw LeftOpen{};
    packets.push_back({writer, poll});
    begun.push_back({begins[all[writer].rank][all[writer].launch], poll});
  }
}

namespace {

class Races {
 public:
  Races(const onesided::Unrolling& plan, const Events& events) : plan_(plan), events_(events) {}

  std::vector<Pair> pairs() const {
    std::set<Pair> found;
    for (const std::vector<Touch>& cell : events_.touches) {
      for (std::size_t j = 0; j < cell.size(); ++j) {
        for (std::size_t i = 0; i < j; ++i) {
          const Touch& a = cell[i];
          const Touch& b = cell[j];
          if ((!a.writes && !b.writes) || is_harmless(a, b)) continue;
          for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
            Pair pair{x.event, y.event};
            if (!x.writes && !follow(x, y, pair)) continue;
            found.insert(std::move(pair));
          }
          if (found.size() > OrdersQuery::kMaxPairs) throw LeftOpen{};
        }
      }
    }
    return {found.begin(), found.end()};
  }

 private:
  const EventInfo& at(Event event) const { return events_.all[event]; }

  bool is_harmless(const Touch& a, const Touch& b) const {
    const EventInfo& x = at(a.event);
    const EventInfo& y = at(b.event);
    if (a.event == b.event) {
      if (x.user || (a.start == b.start && a.element == b.element)) return true;
      throw LeftOpen{};  // threads of one operation: no order of events shows it
    }
    if (x.user && y.user) return true;
    const std::uint32_t judged = plan_.judged;
    if ((x.user ? x.launch > judged : x.launch >= judged) ||
        (y.user ? y.launch > judged : y.launch >= judged)) {
      return true;
    }
    if (!x.user && !y.user && !x.transfer && !y.transfer && x.block == y.block) {
      if (x.segment != y.segment) return true;  // the block's meets order them
      if (a.start == b.start && a.element == b.element &&
          x.operation->packets == y.operation->packets) {
        return true;
      }
    }
    const auto ignores = [&](const Touch& poll, const Touch& packet) {
      return poll.polled && packet.writes && packet.packets && !at(packet.event).user &&
             at(packet.event).launch <= at(poll.event).launch;
    };
    return ignores(a, b) || ignores(b, a);
  }

  /// Adds the polls that see packets made of what is read; false if the write itself does.
  bool follow(const Touch& read, const Touch& write, Pair& pair) const {
    if (at(read.event).user) return true;
    std::set<std::tuple<Event, std::uint32_t, std::uint32_t>> seen;
    std::vector<std::pair<Touch, bool>> open = {{read, false}};  // by way of other memory
    while (!open.empty()) {
      const auto [from, indirect] = open.back();
      open.pop_back();
      if (!seen.emplace(from.event, from.statement, from.element).second) continue;
      const Statement& statement = at(from.event).operation->statements[from.statement];
      for (const Operand& target : statement.targets) {
        for (const Touch& each : events_.touches[target.cell(from.element)]) {
          if (each.writes || each.event == from.event || at(each.event).user) continue;
          if (!target.packets) {
            open.emplace_back(each, true);
          } else if (each.polled && at(each.event).launch == at(from.event).launch) {
            if (indirect) {
              pair.open = true;
            } else if (each.event == write.event && each.element == write.element) {
              return false;
            } else {
              pair.polls.push_back(each.event);
            }
            open.emplace_back(each, indirect);
          }
        }
      }
    }
    std::sort(pair.polls.begin(), pair.polls.end());
    pair.polls.erase(std::unique(pair.polls.begin(), pair.polls.end()), pair.polls.end());
    return true;
  }

  const onesided::Unrolling& plan_;
  const Events& events_;
};

}  // namespace

std::vector<Pair> possible_races(const onesided::Unrolling& plan, const Events& events) {
  return Races(plan, events).pairs();
}

}  // namespace p2::z3_encoding::orders
