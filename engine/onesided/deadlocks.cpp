#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "engine/onesided/judge.h"
#include "engine/onesided/ordering.h"

namespace p2::onesided {
namespace {

using transfer::Edge;
using transfer::EdgeKind;
using transfer::Event;
using transfer::HappensBefore;

std::vector<bool> occurring(const HappensBefore& time) {
  std::vector<bool> occurs(time.events());
  for (const Event event : time.order()) occurs[event] = true;
  return occurs;
}

/// Whether all that precedes an event occurs, but for what ends its wait.
bool is_reached(const HappensBefore& time, const std::vector<bool>& occurs, Event event) {
  return std::ranges::all_of(time.predecessors(event), [&](const transfer::Predecessor& before) {
    return before.event == event || before.kind == transfer::EdgeKind::Message ||
           occurs[before.event];
  });
}

Violation blocked(const Ordering& ordering, Rule rule, std::uint32_t node, std::string reason) {
  Violation violation;
  violation.rule = rule;
  violation.reason = std::move(reason);
  violation.happenings = {ordering.happening(node)};
  return violation;
}

std::optional<Violation> find_deficit(const Ordering& ordering, std::uint32_t c,
                                      const CounterUse& wait) {
  const CounterUses& uses = ordering.counters()[c];
  const Counter& counter = ordering.unrolling().counters[c];
  if (!uses.has_deficit()) return std::nullopt;
  return blocked(ordering, counter.semaphore ? Rule::Deadlock : Rule::UnmatchedWait, wait.node,
                 fmt::format("{} waits on {}, which is {} {} times per launch for {} waits.",
                             ordering.describe(wait.node), counter.name,
                             counter.semaphore ? "released" : "signalled", uses.signals_per_launch,
                             uses.waits_per_launch));
}

template <typename Words>
Violation overwritten(const Ordering& ordering, const Ordering::Overwrite& overwrite,
                      const Words& words) {
  Violation violation;
  violation.rule = Rule::PacketOverwritten;
  violation.cell = describe(ordering.unrolling(), overwrite.cell);
  violation.reason = words(violation.cell, ordering.describe(overwrite.first),
                           ordering.describe(overwrite.second));
  violation.happenings = {ordering.happening(overwrite.first),
                          ordering.happening(overwrite.second)};
  return violation;
}

Violation stop_on(const Ordering& ordering, const std::vector<Edge>& cycle) {
  Violation violation;
  violation.rule = Rule::Deadlock;
  for (const Edge& edge : cycle) {
    const std::uint32_t node = ordering.node_of(edge.to);
    violation.schedule.push_back(fmt::format("{} waits for {}", ordering.describe_event(edge.to),
                                             ordering.describe_event(edge.from)));
    if (node != kNone) violation.happenings.push_back(ordering.happening(node));
  }
  const std::string first = ordering.describe_event(cycle.front().to);
  violation.reason =
      cycle.size() < 2
          ? fmt::format("{} never ends: it waits for what comes after it in its block.", first)
          : fmt::format("{} never ends: {} operations wait for each other.", first, cycle.size());
  return violation;
}

/// A cycle of operations that wait for each other even if the elements of those that forward
/// packets go on one by one, in any order; empty if there is none. `time` is the order of whole
/// operations. Here every such element is an event of its own: after all that precedes its
/// operation but packets, after the packets that it polls itself, and before the operation's end.
std::vector<Edge> cycle_of_elements(const Ordering& ordering, const HappensBefore& time,
                                    LimitWatch& watch) {
  transfer::GraphBuilder builder;
  for (Event event = 0; event < time.events(); ++event) builder.add_event(event);
  std::vector<Event> whole;  // the operation, by event beyond those of `time`
  std::vector<bool> is_split(time.events());
  std::map<std::tuple<std::uint32_t, std::uint16_t, std::uint32_t>, Event> elements;
  const auto element_of = [&](const Access& access) {
    const Node& node = ordering.nodes()[access.node];
    if (!node.forwards) return node.is_transfer() ? node.after : node.own;
    const auto next = static_cast<Event>(time.events() + whole.size());
    const auto [found, is_new] =
        elements.try_emplace({access.node, access.statement, access.element}, next);
    if (!is_new) return found->second;
    watch.count(256);
    watch.step();
    is_split[node.own] = true;
    whole.push_back(node.own);
    builder.add_event(next);
    for (const transfer::Predecessor& before : time.predecessors(node.own)) {
      if (before.kind == EdgeKind::Message || before.event == node.own) continue;
      builder.add_edge(before.event, next, before.kind);
    }
    builder.add_edge(next, node.own, EdgeKind::Program);
    return next;
  };
  for (const Ordering::Feed& each : ordering.forwarded_packets(watch)) {
    const Event packet = element_of(*each.packet);
    builder.add_edge(packet, element_of(*each.poll), EdgeKind::Message);
  }
  // What operations that forward wait for, and what waits for them, has been added by element.
  const auto forwards = [&](Event event) {
    const std::uint32_t node = ordering.node_of(event);
    return node != kNone && ordering.nodes()[node].own == event && is_split[event];
  };
  for (Event event = 0; event < time.events(); ++event) {
    for (const transfer::Predecessor& before : time.predecessors(event)) {
      const bool by_element =
          before.kind == EdgeKind::Message && (forwards(event) || forwards(before.event));
      if (!by_element) builder.add_edge(before.event, event, before.kind);
    }
  }
  const HappensBefore graph = std::move(builder).build();
  std::vector<Edge> cycle;
  if (!graph.has_cycle()) return cycle;
  const auto operation = [&](Event event) {
    return event < time.events() ? event : whole[event - time.events()];
  };
  for (const Edge& edge : graph.cycle()) {
    const Edge mapped{operation(edge.from), operation(edge.to), edge.kind};
    if (mapped.from != mapped.to || edge.from == edge.to) cycle.push_back(mapped);
  }
  if (cycle.empty()) {  // within one operation
    const Event event = operation(graph.cycle().front().to);
    cycle.push_back({event, event, EdgeKind::Message});
  }
  return cycle;
}

}  // namespace

OpenQuestion open_forwarding(const Ordering& ordering, Event stuck) {
  return {
      "forwarded-packets",
      fmt::format("{} waits for packets that are forwarded from its own. It may end, where every "
                  "element goes on by itself; whole operations never end.",
                  ordering.describe_event(stuck))};
}

std::optional<Violation> find_deadlock(const Ordering& ordering, const HappensBefore& time,
                                       std::optional<OpenQuestion>& open, LimitWatch& watch) {
  const Unrolling& unrolling = ordering.unrolling();
  if (const auto& overwrite = ordering.overwritten_packet()) {
    return overwritten(ordering, *overwrite, [](const auto& cell, const auto& a, const auto& b) {
      return fmt::format("Two packets with the flag of one launch go to {}: {} and {}.", cell, a,
                         b);
    });
  }
  const std::vector<bool> occurs = occurring(time);
  for (const Access& poll : ordering.unfed_polls()) {
    if (!is_reached(time, occurs, ordering.nodes()[poll.node].own)) continue;
    Violation violation =
        blocked(ordering, Rule::PacketNeverWritten, poll.node,
                fmt::format("{} polls a packet in {}, which nothing writes in that launch.",
                            ordering.describe(poll.node), describe(unrolling, poll.cell)));
    violation.cell = describe(unrolling, poll.cell);
    return violation;
  }
  for (std::uint32_t c = 0; c < ordering.counters().size(); ++c) {
    for (const CounterUse& wait : ordering.counters()[c].waits) {
      if (occurs[wait.event] || !is_reached(time, occurs, wait.event)) continue;
      if (auto deficit = find_deficit(ordering, c, wait)) return deficit;
    }
  }
  if (time.has_cycle()) {
    std::vector<Edge> cycle = time.process_cycle();
    if (cycle.empty()) cycle = time.cycle();
    const Event stuck = cycle.front().to;
    if (ordering.has_forwarded_packets()) cycle = cycle_of_elements(ordering, time, watch);
    if (!cycle.empty()) return stop_on(ordering, cycle);
    open = open_forwarding(ordering, stuck);
  }
  for (std::uint32_t c = 0; c < ordering.counters().size(); ++c) {
    const CounterUses& uses = ordering.counters()[c];
    if (uses.waits.empty()) continue;
    if (auto deficit = find_deficit(ordering, c, uses.waits.back())) return deficit;
  }
  if (const auto& doubtful = ordering.doubtful_packet()) {
    return overwritten(ordering, *doubtful, [](const auto& cell, const auto& a, const auto& b) {
      return fmt::format("{} writes no packet to {}, where {} polls: it may look like the packet.",
                         a, cell, b);
    });
  }
  return std::nullopt;
}

}  // namespace p2::onesided
