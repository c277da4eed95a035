#include <algorithm>

#include <fmt/format.h>

#include "engine/onesided/judge.h"
#include "engine/onesided/ordering.h"

namespace p2::onesided {
namespace {

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

Violation cycle_of(const Ordering& ordering, const HappensBefore& time) {
  Violation violation;
  violation.rule = Rule::Deadlock;
  std::vector<transfer::Edge> cycle = time.process_cycle();
  if (cycle.empty()) cycle = time.cycle();
  for (const transfer::Edge& edge : cycle) {
    const std::uint32_t node = ordering.node_of(edge.to);
    violation.schedule.push_back(fmt::format("{} waits for {}", ordering.describe_event(edge.to),
                                             ordering.describe_event(edge.from)));
    if (node != kNone) violation.happenings.push_back(ordering.happening(node));
  }
  const std::string first =
      cycle.empty() ? "an operation" : ordering.describe_event(cycle.front().to);
  violation.reason = violation.reason =
      cycle.size() < 2
          ? fmt::format("{} never ends: it waits for what comes after it in its block.", first)
          : fmt::format("{} never ends: {} operations wait for each other.", first, cycle.size());
  return violation;
}

}  // namespace

std::optional<Violation> find_deadlock(const Ordering& ordering, const HappensBefore& time) {
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
  if (time.has_cycle()) return cycle_of(ordering, time);
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
