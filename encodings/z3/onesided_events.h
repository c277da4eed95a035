#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "encodings/z3/queries.h"

/// The events of the partial-order encoding (OrdersQuery in queries.h), which times t and m order.
namespace p2::z3_encoding::orders {

using Event = std::uint32_t;

/// A question that this encoding leaves open.
struct LeftOpen {};

/// An operation, or the part of one that a transfer does.
struct EventInfo {
  const onesided::Operation* operation = nullptr;  ///< null: begin, end, user, or a barrier
  std::uint32_t rank = 0;
  std::uint32_t block = onesided::kNone;
  std::uint32_t segment = 0;
  std::uint32_t launch = 0;  ///< of a user: launches that have ended
  bool user = false;
  bool transfer = false;
};

/// An access of an event to one cell.
struct Touch {
  Event event = 0;
  onesided::Cell start = 0;
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

/// The events of an unrolling and what orders them. Throws LeftOpen for too many.
class Events {
 public:
  explicit Events(const onesided::Unrolling& unrolling);

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
  bool forwards = false;                    ///< packets of an operation that polls several
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

  const onesided::Unrolling& plan_;
  std::vector<std::vector<Event>> ends_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Event> barriers_;  // by object and pass
  std::vector<std::vector<Item>> queues_;
  std::uint32_t segments_ = 0;
};

/// Two accesses of a race, if y is after x by t and before it by m, and also before `polls` by m:
/// polls that see a packet made of what x reads.
struct Pair {
  Event x = 0;
  Event y = 0;
  std::vector<Event> polls = {};
  bool open = false;  ///< values of x go into packets by way of other memory

  auto operator<=>(const Pair&) const = default;
};

/// The accesses of an unrolling that race in some order. Throws LeftOpen.
std::vector<Pair> possible_races(const onesided::Unrolling& plan, const Events& events);

}  // namespace p2::z3_encoding::orders
