#include <algorithm>
#include <set>
#include <tuple>

#include "encodings/z3/onesided_events.h"

namespace p2::z3_encoding::orders {
namespace {

using namespace onesided;

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

}  // namespace

std::vector<Pair> possible_races(const Unrolling& plan, const Events& events) {
  return Races(plan, events).pairs();
}

}  // namespace p2::z3_encoding::orders
