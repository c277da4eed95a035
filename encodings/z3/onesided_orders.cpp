#include "encodings/z3/onesided_orders.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "encodings/z3/terms.h"
#include "engine/onesided/judge.h"

namespace p2::z3_encoding {
namespace {

using namespace onesided;
using OpKind = Operation::Kind;
using Event = std::uint32_t;

/// A question that this encoding leaves open.
struct LeftOpen {};

struct EventInfo {
  const Operation* operation = nullptr;  ///< null: begin, end, user, or a barrier
  std::uint32_t rank = 0;
  std::uint32_t block = kNone;
  std::uint32_t segment = 0;
  std::uint32_t launch = 0;  ///< of a user: launches that have ended
  bool user = false;
  bool transfer = false;
};

struct Touch {
  Event event = 0;
  Cell start = 0;
  std::uint32_t element = 0;
  std::uint32_t statement = 0;
  bool writes = false;
  bool packets = false;
  bool polled = false;
};

/// A signal or a wait.
struct Use {
  Event event = 0;
  std::uint32_t lane = 0;
  std::optional<Event> fence = {};  ///< what releases, or acquires
  bool any = false;                 ///< at least relaxed
  std::uint64_t number = 0;         ///< signals that a wait needs
};

/// The events of an unrolling and what orders them.
class Events {
 public:
  explicit Events(const Unrolling& unrolling);

  struct Both {
    Event first, second;
  };
  std::vector<EventInfo> all;
  std::vector<Both> always;   ///< by t and by m
  std::vector<Both> program;  ///< by t
  std::vector<Both> packets;  ///< by t: written, polled
  std::vector<Both> begun;    ///< by m: begins of senders, polls
  std::vector<std::vector<Use>> signals;
  std::vector<std::vector<Use>> waits;
  std::vector<bool> ordered;                ///< by counter: its signals are
  std::vector<bool> surplus;                ///< by counter
  bool is_refuted = false;                  ///< whatever the order
  std::vector<std::vector<Touch>> touches;  ///< by cell
  std::vector<std::vector<Event>> begins;   ///< by rank and launch

 private:
  struct Item {
    Event event;
    std::uint32_t block, segment, lane;
    bool flush;
  };
  Event add(EventInfo info) {
    if (all.size() == OrdersQuery::kMaxEvents) throw LeftOpen{};
    all.push_back(info);
    return static_cast<Event>(all.size() - 1);
  }
  void add_block(std::uint32_t number);
  void order_queues();
  void count_uses();
  void collect_touches();
  void follow_packets();
  bool follows(const Use& a, const Use& b) const {
    const EventInfo& x = all[a.event];
    const EventInfo& y = all[b.event];
    return x.block == y.block && x.transfer == y.transfer &&
           (x.segment != y.segment || a.lane == b.lane);
  }

  const Unrolling& plan_;
  std::vector<std::vector<Event>> ends_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Event> barriers_;  // by object and pass
  std::vector<std::vector<Item>> queues_;
  std::uint32_t segments_ = 0;
};

Events::Events(const Unrolling& unrolling)
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
  const Block& block = plan_.blocks[number];
  std::map<std::uint32_t, std::uint32_t> passes;  // by barrier
  std::optional<Event> release;
  std::optional<Event> local_release;
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
            use.fence = operation->local ? local_release : release;
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
            local_release = event;
            if (!operation->local) release = event;
          }
          if (acquires(operation->order)) {
            std::erase_if(relaxed, [&](const auto& each) {
              Use& use = waits[each.first][each.second];
              const bool reached = !operation->local || all[use.event].operation->local;
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
  for (const std::vector<Touch>& cell : touches) {
    std::map<std::uint32_t, Event> packet;  // by launch
    for (const Touch& each : cell) {
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
      }
    }
  }
  for (const auto& [writer, poll] : seen) {
    packets.push_back({writer, poll});
    begun.push_back({begins[all[writer].rank][all[writer].launch], poll});
  }
}

/// Two accesses of a race, if y is after x by t and before it by m, and also before `polls` by m:
/// polls that see a packet made of what x reads.
struct Pair {
  Event x = 0;
  Event y = 0;
  std::vector<Event> polls = {};
  bool open = false;  ///< values of x go into packets by way of other memory

  auto operator<=>(const Pair&) const = default;
};

class Races {
 public:
  Races(const Unrolling& plan, const Events& events) : plan_(plan), events_(events) {}

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
      if (x.user || a.start == b.start) return true;
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
      if (a.start == b.start && x.operation->packets == y.operation->packets) return true;
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

  const Unrolling& plan_;
  const Events& events_;
};

/// The constraints on times.
class Times {
 public:
  Times(z3::context& context, const Events& events)
      : context_(context), events_(events), t_(context), m_(context), occurs_(context) {
    for (Event e = 0; e < events.all.size(); ++e) {
      t_.push_back(context.int_const(fmt::format("t{}", e).c_str()));
      m_.push_back(context.int_const(fmt::format("m{}", e).c_str()));
      occurs_.push_back(context.bool_const(fmt::format("o{}", e).c_str()));
    }
  }

  /// An interleaving in which all occurs.
  void add_interleaving(z3::solver& solver) const {
    for (const auto* edges : {&events_.always, &events_.program, &events_.packets}) {
      for (const auto& [first, second] : *edges) solver.add(t(first) < t(second));
    }
    for_each_wait([&](std::uint32_t c, const Use& wait) {
      const std::vector<Use>& signals = events_.signals[c];
      if (wait.number > signals.size()) return;  // in later launches
      if (events_.ordered[c]) {
        solver.add(t(signals[wait.number - 1].event) < t(wait.event));
      } else {
        solver.add(at_least(signals, wait.number,
                            [&](const Use& each) { return t(each.event) < t(wait.event); }));
      }
    });
    for (std::uint32_t c = 0; c < events_.signals.size(); ++c) {
      if (events_.ordered[c] || events_.waits[c].empty()) continue;
      z3::expr_vector times(context_);
      for (const Use& each : events_.signals[c]) times.push_back(t(each.event));
      solver.add(z3::distinct(times));
    }
  }

  /// An order that memory may have in the interleaving.
  void add_memory(z3::solver& solver) const {
    for (const auto* edges : {&events_.always, &events_.begun}) {
      for (const auto& [first, second] : *edges) solver.add(m(first) < m(second));
    }
    for_each_wait([&](std::uint32_t c, const Use& wait) {
      if (events_.surplus[c]) return;
      const std::vector<Use>& signals = events_.signals[c];
      for (std::size_t k = 0; k < signals.size(); ++k) {
        const Use& signal = signals[k];
        if (events_.ordered[c] && k + 1 != wait.number) continue;
        z3::expr_vector both(context_);
        if (signal.fence && wait.fence) both.push_back(m(*signal.fence) < m(*wait.fence));
        if (signal.any && wait.any) {
          const EventInfo& sender = events_.all[signal.event];
          both.push_back(m(events_.begins[sender.rank][sender.launch]) < m(wait.event));
        }
        if (both.empty()) continue;
        if (events_.ordered[c]) {
          solver.add(z3::mk_and(both));
          continue;
        }
        // Among the first ones.
        const z3::expr is_late = at_least(
            signals, wait.number, [&](const Use& each) { return t(each.event) < t(signal.event); });
        solver.add(is_late || z3::mk_and(both));
      }
    });
  }

  /// A prefix of an interleaving after which nothing can occur, though something is left.
  void add_deadlock(z3::solver& solver, std::uint32_t judged) const {
    // An expr_vector that is copied is the same one.
    std::vector<std::vector<z3::expr>> enabled(events_.all.size());
    for (const auto* edges : {&events_.always, &events_.program}) {
      for (const auto& [first, second] : *edges) {
        enabled[second].push_back(o(first));
        solver.add(z3::implies(o(second), o(first) && t(first) < t(second)));
      }
    }
    for (const auto& [writer, poll] : events_.packets) {
      enabled[poll].push_back(o(writer));
      solver.add(z3::implies(o(poll), o(writer) && t(writer) < t(poll)));
    }
    for_each_wait([&](std::uint32_t c, const Use& wait) {
      const std::vector<Use>& signals = events_.signals[c];
      if (wait.number > signals.size()) {
        enabled[wait.event].push_back(context_.bool_val(false));
        solver.add(!o(wait.event));
        return;
      }
      enabled[wait.event].push_back(
          at_least(signals, wait.number, [&](const Use& each) { return o(each.event); }));
      solver.add(z3::implies(o(wait.event), at_least(signals, wait.number, [&](const Use& each) {
                               return o(each.event) && t(each.event) < t(wait.event);
                             })));
    });
    z3::expr_vector left(context_);
    for (Event e = 0; e < events_.all.size(); ++e) {
      z3::expr_vector all(context_);
      for (const z3::expr& each : enabled[e]) all.push_back(each);
      solver.add(z3::implies(z3::mk_and(all), o(e)));
      if (events_.all[e].launch < judged) left.push_back(!o(e));
    }
    solver.add(z3::mk_or(left));
  }

  z3::expr is_race(const Pair& pair) const {
    z3::expr_vector all(context_);
    all.push_back(t(pair.x) < t(pair.y));
    all.push_back(m(pair.y) < m(pair.x));
    for (const Event poll : pair.polls) {
      if (poll != pair.y) all.push_back(m(pair.y) < m(poll));
    }
    return z3::mk_and(all);
  }

  z3::expr t(Event event) const { return t_[static_cast<int>(event)]; }

 private:
  z3::expr m(Event event) const { return m_[static_cast<int>(event)]; }
  z3::expr o(Event event) const { return occurs_[static_cast<int>(event)]; }

  template <typename Visit>
  void for_each_wait(const Visit& visit) const {
    for (std::uint32_t c = 0; c < events_.waits.size(); ++c) {
      for (const Use& wait : events_.waits[c]) {
        if (wait.number > 0) visit(c, wait);
      }
    }
  }
  template <typename Holds>
  z3::expr at_least(const std::vector<Use>& uses, std::uint64_t number, const Holds& holds) const {
    z3::expr_vector all(context_);
    for (const Use& each : uses) all.push_back(holds(each));
    if (number > all.size()) return context_.bool_val(false);
    return z3::atleast(all, static_cast<unsigned>(number));
  }

  z3::context& context_;
  const Events& events_;
  z3::expr_vector t_;
  z3::expr_vector m_;
  z3::expr_vector occurs_;
};

/// Executes the events in an order; whether all polls find their packets and all outputs are right.
bool has_right_result(const Unrolling& plan, const Events& events,
                      const std::vector<Event>& order) {
  std::vector<std::uint64_t> memory(plan.cells);
  std::vector<std::int64_t> flags(plan.cells, -1);
  Outputs outputs(plan.launches, std::vector<std::vector<std::uint64_t>>(plan.ranks));
  for (const Event event : order) {
    const EventInfo& info = events.all[event];
    if (info.user) {
      const UserCells& user = plan.users[info.rank];
      for (std::uint32_t k = 0; info.launch > 0 && k < user.output_cells; ++k) {
        outputs[info.launch - 1][info.rank].push_back(memory[user.output + k]);
      }
      for (std::uint32_t k = 0; k < user.output_cells; ++k) {
        memory[user.output + k] = ~input_number(info.launch, info.rank, k);
      }
      for (std::uint32_t k = 0; k < user.input_cells; ++k) {
        memory[user.input + k] = input_number(info.launch, info.rank, k);
      }
    }
    if (info.operation == nullptr || (info.operation->kind == OpKind::Push && !info.transfer)) {
      continue;
    }
    for (const Statement& statement : info.operation->statements) {
      std::vector<std::uint64_t> sums(statement.sources.front().count);
      std::vector<std::int64_t> marks(sums.size(), info.launch);
      for (const Operand& source : statement.sources) {
        for (std::uint32_t k = 0; k < source.count; ++k) {
          const std::int64_t mark = flags[source.cell(k)];
          if (source.polled && mark != std::int64_t{info.launch}) return false;
          if (source.packets && !source.polled) marks[k] = mark;
          sums[k] += memory[source.cell(k)];
        }
      }
      for (const Operand& target : statement.targets) {
        for (std::uint32_t k = 0; k < target.count; ++k) {
          memory[target.cell(k)] = sums[k];
          flags[target.cell(k)] = target.packets ? marks[k] : -1;
          if (!target.packets) continue;
          memory[target.cell(k) + 1] = sums[k];
          flags[target.cell(k) + 1] = -1;
        }
      }
    }
  }
  return !find_wrong_number(plan, outputs);
}

EngineAnswer decide(const OrdersQuery& query) {
  const Unrolling& plan = *query.unrolling;
  const Events events(plan);
  if (events.is_refuted) return {"z3", Outcome::Refuted};
  // Signals of later launches may end a wait, too.
  const bool ambiguous = std::ranges::any_of(events.ordered, [](bool each) { return !each; });
  if (ambiguous && plan.judged == plan.launches) return {"z3"};
  const std::vector<Pair> pairs = Races(plan, events).pairs();
  z3::context context;
  const Meter meter(context, query.limits);
  const Times times(context, events);
  const z3::expr_vector none(context);
  z3::solver deadlock(context);
  times.add_deadlock(deadlock, plan.judged);
  const z3::check_result stops = meter.check(deadlock, none);
  if (stops != z3::unsat) {
    return {"z3", stops == z3::sat ? Outcome::Refuted : Outcome::Undecided};
  }
  z3::solver solver(context);
  times.add_interleaving(solver);
  if (meter.check(solver, none) != z3::sat) return {"z3"};
  std::vector<Event> order(events.all.size());
  std::iota(order.begin(), order.end(), 0);
  const z3::model model = solver.get_model();
  std::vector<std::int64_t> at;
  for (const Event event : order) {
    at.push_back(model.eval(times.t(event), true).get_numeral_int64());
  }
  std::ranges::stable_sort(order, {}, [&](Event event) { return at[event]; });
  times.add_memory(solver);
  for (const bool open : {false, true}) {
    z3::expr_vector some(context);
    for (const Pair& pair : pairs) {
      if (pair.open == open) some.push_back(times.is_race(pair));
    }
    solver.push();
    solver.add(z3::mk_or(some));
    const z3::check_result found = meter.check(solver, none);
    solver.pop();
    if (found == z3::unsat) continue;
    return {"z3", found == z3::sat && !open ? Outcome::Refuted : Outcome::Undecided};
  }
  return {"z3", has_right_result(plan, events, order) ? Outcome::Established : Outcome::Refuted};
}

}  // namespace

EngineAnswer judge(const OrdersQuery& query) {
  try {
    return guarded([&] { return decide(query); });
  } catch (const LimitReached&) {
    return {"z3"};
  } catch (const LeftOpen&) {
    return {"z3"};
  }
}

}  // namespace p2::z3_encoding
