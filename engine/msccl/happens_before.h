#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/msccl/connections.h"

namespace p2::msccl {

/// One transmission of a step; a step of few chunks is one.
struct Event {
  StepPlace step;
  std::uint32_t part = 0;
};

/// What comes before what in every interleaving: the steps of a thread block one after the other, a
/// published step before those that wait for it, the k-th send of a connection before its k-th
/// receive and, where connections are bounded by the capacity C of the protocol, that before send
/// k + C. Events that this leaves unordered can be observed in either order, as long as there is no
/// cycle; so one look at the graph is a look at all interleavings.
class HappensBefore {
 public:
  static constexpr std::uint32_t kWhole = UINT32_MAX;
  struct Arrow {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    Before why = Before::Order;
  };

  /// Steps of more than `chunks_per_transmission` chunks are several transmissions. Preconditions:
  /// mismatch() finds nothing, and every wait has an end (awaited).
  HappensBefore(const Algorithm& algorithm, const std::vector<Connection>& connections,
                bool bounded, std::uint32_t chunks_per_transmission = kWhole);

  const std::vector<Event>& events() const { return events_; }
  /// The arrows into an event.
  std::span<const Arrow> into(std::uint32_t event) const;
  /// All events, each after those that come before it; fewer where there is a cycle.
  const std::vector<std::uint32_t>& order() const { return order_; }
  bool has_cycle() const { return order_.size() < events_.size(); }
  /// A shortest cycle through one of the events of some cycle. Precondition: has_cycle().
  std::vector<Wait> cycle() const;
  /// What has to be over before all of `events` can start, as steps in an order that can be run.
  /// Precondition: no cycle.
  std::vector<StepPlace> before(const std::vector<std::uint32_t>& events) const;
  /// The same for all of one step.
  std::vector<StepPlace> before_step(StepPlace place) const { return before({first_of(place)}); }
  std::uint32_t chunks_per_transmission() const { return chunks_per_transmission_; }

 private:
  std::uint32_t first_of(StepPlace place) const;
  std::uint32_t parts_of(StepPlace place) const;
  void add_blocks(std::vector<Arrow>& arrows) const;
  void add_messages(std::vector<Arrow>& arrows, const Connection& connection, bool bounded) const;
  void index(const std::vector<Arrow>& arrows);
  void sort();

  const Algorithm& algorithm_;
  std::uint32_t chunks_per_transmission_;
  std::vector<Event> events_;
  std::vector<std::vector<std::vector<std::uint32_t>>> first_;  ///< by gpu, block, step
  std::vector<Arrow> arrows_;                                   ///< by the event they lead to
  std::vector<std::size_t> starts_;  ///< of each event's arrows in `arrows_`
  std::vector<std::uint32_t> order_;
};

}  // namespace p2::msccl
