#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/base/limits.h"
#include "p2/error.h"

/// Transfers between ranks: which order all interleavings share, and what follows from it.
///
/// A client describes its format by *events* of *processes*. A process is what runs events one
/// after the other: a thread block, a device, a lane. An event occurs as soon as all its
/// predecessors have occurred, so the graph of predecessors decides every interleaving at once:
///
/// - An event occurs in one interleaving iff it occurs in all of them: iff no cycle precedes it (a
///   topological sort).
/// - Two events can be observed in either order iff no path joins them (Lamport, "Time, clocks, and
///   the ordering of events in a distributed system", CACM 21(7), 1978).
///
/// This holds where matching does not depend on the interleaving, as with the FIFO connections of
/// ConnectionTable, and where no event chooses among its predecessors.
///
/// Edges for the parts of a format:
///
/// - A process runs b after a: Program, which add_event() adds.
/// - b waits for a flag, a counter or a barrier that a reaches: Dependency.
/// - A FIFO connection of capacity C ≥ 1: connect() adds send k → receive k (Message) and
///   receive k → send k + C (Capacity).
/// - A send that waits until its receive is posted (MPI_Ssend, ncclSend): the operations have two
///   events each, their beginning and their end, which may be the beginning of what follows;
///   beginning of the send → end of the receive (Message), beginning of the receive → end of the
///   send (Rendezvous).
/// - A one-sided put is an event of the process that issues it. Its target learns of its end only
///   by waiting for its signal: Dependency from the put to that wait.
namespace p2::transfer {

using Event = std::uint32_t;
constexpr Event kNoEvent = std::numeric_limits<Event>::max();
constexpr std::size_t kUnboundedCapacity = std::numeric_limits<std::size_t>::max();

/// Why one event precedes another. The values are stable: caches hold them.
enum class EdgeKind : std::uint8_t {
  Program = 0,     ///< the process runs it first
  Dependency = 1,  ///< the other waits for it
  Message = 2,     ///< the other receives what it sends
  Capacity = 3,    ///< it frees the slot of a full connection that the other needs
  Rendezvous = 4   ///< the other sends what it posts the receive for
};
/// `order`, `dependency`, `message`, `capacity`, `rendezvous`.
std::string_view to_string(EdgeKind kind);

struct Edge {
  Event from = 0;
  Event to = 0;
  EdgeKind kind = EdgeKind::Program;

  bool operator==(const Edge&) const = default;
};

struct Predecessor {
  Event event = 0;
  EdgeKind kind = EdgeKind::Program;
};

class GraphBuilder;

/// The happens-before relation of a set of events, as its predecessor graph. Takes about 25 bytes
/// per event and 8 per edge.
class HappensBefore {
 public:
  std::size_t events() const { return process_.size(); }
  std::uint32_t process(Event event) const { return process_[event]; }
  std::span<const Predecessor> predecessors(Event event) const {
    return std::span(predecessors_).subspan(starts_[event], starts_[event + 1] - starts_[event]);
  }

  /// The events that occur, each after its predecessors: a topological sort (Kahn, "Topological
  /// sorting of large networks", CACM 5(11), 1962). The others never occur: they are on a cycle or
  /// after one.
  const std::vector<Event>& order() const { return order_; }
  bool has_cycle() const { return order_.size() < events(); }

  /// A cycle of events, i.e. a deadlock, as its edges: each begins where the one before it ends.
  /// Through one of its events it is a shortest one. Precondition: has_cycle().
  std::vector<Edge> cycle() const;

  /// A shortest cycle of the wait-for graph of processes (the AND model of Coffman, Elphick and
  /// Shoshani, "System deadlocks", Computing Surveys 3(2), 1971; for MPI: Hilbrich et al., "A graph
  /// based approach for MPI deadlock detection", ICS 2009). A process waits for another one if its
  /// first event that never occurs has a predecessor in the other that never occurs; the Edge leads
  /// from that predecessor to that event. Edges are in the order of waiting: the process of the
  /// first edge's `to` waits for that of its `from`, which is the next edge's `to`. Of several
  /// shortest cycles that of the lowest process; empty if all events occur.
  std::vector<Edge> process_cycle() const;

  /// All events that precede one of `events`, in an order in which they can occur; `events`
  /// themselves are left out. Precondition: no cycle.
  std::vector<Event> before(std::span<const Event> events) const;

 private:
  friend class GraphBuilder;

  void index(const std::vector<Edge>& edges);
  void sort();
  std::vector<bool> occurring() const;
  Event find_event_on_cycle(const std::vector<bool>& occurs) const;

  std::vector<std::uint32_t> process_;     // by event
  std::vector<std::size_t> starts_;        // by event, of its predecessors
  std::vector<Predecessor> predecessors_;  // by the event they precede; in the order of addition
  std::vector<Event> order_;
};

/// Collects events and edges.
///
///     transfer::GraphBuilder builder;
///     const Event send = builder.add_event(0);
///     const Event receive = builder.add_event(1);
///     builder.add_edge(send, receive, EdgeKind::Message);
///     const HappensBefore graph = std::move(builder).build();
class GraphBuilder {
 public:
  /// Allocates for that many events and edges; those of Program count, too.
  void reserve(std::size_t events, std::size_t edges);

  /// The next event of a process, after those that it has (a Program edge). Events are numbered
  /// from 0. The events of a process are added one directly after the other. Throws LimitReached
  /// beyond 2^32 - 1 events.
  Event add_event(std::uint32_t process);
  void add_edge(Event from, Event to, EdgeKind kind) { edges_.push_back({from, to, kind}); }
  /// A connection whose k-th send is matched by its k-th receive and that holds `capacity` ≥ 1
  /// messages. Precondition: equally many of both.
  void connect(std::span<const Event> sends, std::span<const Event> receives,
               std::size_t capacity = kUnboundedCapacity);

  HappensBefore build() &&;

 private:
  std::vector<std::uint32_t> process_;
  std::vector<Edge> edges_;
};

/// A first-in first-out connection from one rank to another: its k-th send matches its k-th
/// receive. `Operation` identifies an operation in the format that is checked.
template <typename Operation>
struct Connection {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t channel = 0;  ///< several connections may join two ranks
  std::vector<Operation> sends;
  std::vector<Operation> receives;

  /// How many transfers have both halves.
  std::size_t matched() const { return std::min(sends.size(), receives.size()); }
};

/// Collects the sends and receives of all ranks by connection. The halves of a connection have to
/// be added in the order in which their rank issues them; that of different ranks does not matter.
template <typename Operation>
class ConnectionTable {
 public:
  void add_send(std::uint32_t source, std::uint32_t destination, std::uint32_t channel,
                Operation operation) {
    at(source, destination, channel).sends.push_back(std::move(operation));
  }
  void add_receive(std::uint32_t source, std::uint32_t destination, std::uint32_t channel,
                   Operation operation) {
    at(source, destination, channel).receives.push_back(std::move(operation));
  }

  /// By source, destination and channel.
  std::vector<Connection<Operation>> take() && {
    std::vector<Connection<Operation>> all;
    all.reserve(connections_.size());
    for (auto& [key, connection] : connections_) all.push_back(std::move(connection));
    return all;
  }

 private:
  Connection<Operation>& at(std::uint32_t source, std::uint32_t destination,
                            std::uint32_t channel) {
    const auto [found, is_new] = connections_.try_emplace({source, destination, channel});
    if (is_new) {
      found->second.source = source;
      found->second.destination = destination;
      found->second.channel = channel;
    }
    return found->second;
  }

  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Connection<Operation>>
      connections_;
};

constexpr std::uint32_t kNoChain = std::numeric_limits<std::uint32_t>::max();

/// A partition of some events into chains: the events of one chain are totally ordered by the graph
/// in the order of their positions, which start at 1.
struct Chains {
  std::vector<std::uint32_t> chain;     ///< by event; kNoChain: on none
  std::vector<std::uint32_t> position;  ///< by event
  std::uint32_t count = 0;

  /// Appends an event to the end of a chain of `lengths.size()` chains.
  void append(Event event, std::uint32_t of, std::vector<std::uint32_t>& lengths) {
    chain[event] = of;
    position[event] = ++lengths[of];
  }
};

/// Which events precede which, by vector clocks over chains (Mattern, "Virtual time and global
/// states of distributed systems", 1989; chains: Agarwal and Garg, "Efficient dependency tracking
/// for relevant events in shared-memory systems", PODC 2005). Takes 4 bytes per event and chain.
class Reachability {
 public:
  /// Precondition: no cycle. Throws LimitReached.
  Reachability(const HappensBefore& graph, const Chains& chains, LimitWatch& watch)
      : chains_(chains), width_(chains.count) {
    if (graph.events() * width_ > kMaxEntries) {
      throw LimitReached(LimitReached::Kind::Size, "more than 2^30 entries of vector clocks");
    }
    watch.require_room(graph.events() * width_ * sizeof(std::uint32_t));
    clocks_.resize(graph.events() * width_);
    for (const Event event : graph.order()) {
      watch.step();
      std::uint32_t* const now = clocks_.data() + event * width_;
      for (const Predecessor& before : graph.predecessors(event)) {
        const std::uint32_t* const then = clocks_.data() + before.event * width_;
        for (std::size_t i = 0; i < width_; ++i) now[i] = std::max(now[i], then[i]);
      }
      if (chains.chain[event] != kNoChain) now[chains.chain[event]] = chains.position[event];
    }
  }

  /// Whether `first`, an event of a chain, precedes `second` or is the same.
  bool reaches(Event first, Event second) const {
    return clocks_[second * width_ + chains_.chain[first]] >= chains_.position[first];
  }

 private:
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 30U;

  const Chains& chains_;
  std::size_t width_;
  std::vector<std::uint32_t> clocks_;
};

}  // namespace p2::transfer
