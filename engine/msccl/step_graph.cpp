#include "engine/msccl/step_graph.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/invariant.h"

namespace p2::msccl {
namespace {

using transfer::EdgeKind;
using transfer::Event;

std::optional<Fault> find_step_without_peer(const Algorithm& algorithm) {
  for (const StepPlace place : algorithm.steps()) {
    const ThreadBlock& block = algorithm.block(place);
    const StepType type = algorithm.step(place).type;
    const bool no_send = sends(type) && !block.send_peer;
    if (!no_send && !(receives(type) && !block.receive_peer)) continue;
    return Fault{
        Fault::Kind::NoPeer,
        fmt::format("{} {}, but its thread block has no peer to {}.", describe(algorithm, place),
                    no_send ? "sends" : "receives", no_send ? "send to" : "receive from"),
        {place}};
  }
  return std::nullopt;
}

/// `steps` are one end of a connection.
std::optional<Fault> find_shared_end(const Algorithm& algorithm,
                                     const std::vector<StepPlace>& steps) {
  const auto other = std::find_if(steps.begin(), steps.end(), [&](StepPlace place) {
    return place.block != steps.front().block;
  });
  if (other == steps.end()) return std::nullopt;
  return Fault{Fault::Kind::SharedConnection,
               fmt::format("{} and {} use one end of one connection from different thread blocks: "
                           "nothing orders them.",
                           describe(algorithm, steps.front()), describe(algorithm, *other)),
               {steps.front(), *other}};
}

std::optional<Fault> find_unmatched(const Algorithm& algorithm, const Connection& connection) {
  const std::size_t matched = connection.matched();
  for (std::size_t k = 0; k < matched; ++k) {
    const StepPlace send = connection.sends[k];
    const StepPlace receive = connection.receives[k];
    const std::uint32_t sent = algorithm.step(send).count;
    const std::uint32_t received = algorithm.step(receive).count;
    if (sent == received) continue;
    return Fault{Fault::Kind::CountMismatch,
                 fmt::format("{} sends {} chunks and {} receives {}.", describe(algorithm, send),
                             sent, describe(algorithm, receive), received),
                 {receive, send}};
  }
  if (connection.sends.size() == connection.receives.size()) return std::nullopt;
  const bool send = connection.sends.size() > matched;
  const StepPlace place = send ? connection.sends[matched] : connection.receives[matched];
  return Fault{send ? Fault::Kind::UnmatchedSend : Fault::Kind::UnmatchedReceive,
               fmt::format("{} is {} {} from gpu {} to gpu {} on channel {}, which has {} of {}.",
                           describe(algorithm, place), send ? "send" : "receive", matched + 1,
                           connection.source, connection.destination, connection.channel, matched,
                           send ? "the receives" : "the sends"),
               {place}};
}

Fault::Kind kind_of(const std::vector<Wait>& cycle) {
  const auto has = [&](EdgeKind kind) {
    return std::any_of(cycle.begin(), cycle.end(),
                       [&](const Wait& wait) { return wait.before == kind; });
  };
  if (has(EdgeKind::Capacity)) return Fault::Kind::CapacityDeadlock;
  return has(EdgeKind::Dependency) ? Fault::Kind::DependencyDeadlock : Fault::Kind::OrderDeadlock;
}

}  // namespace

std::vector<Connection> connections(const Algorithm& algorithm) {
  transfer::ConnectionTable<StepPlace> table;
  for (const StepPlace place : algorithm.steps()) {
    const ThreadBlock& block = algorithm.block(place);
    const StepType type = algorithm.step(place).type;
    if (sends(type) && block.send_peer) {
      table.add_send(place.gpu, *block.send_peer, block.channel, place);
    }
    if (receives(type) && block.receive_peer) {
      table.add_receive(*block.receive_peer, place.gpu, block.channel, place);
    }
  }
  return std::move(table).take();
}

std::optional<Fault> find_mismatch(const Algorithm& algorithm, const std::vector<Connection>& all) {
  if (auto fault = find_step_without_peer(algorithm)) return fault;
  for (const Connection& connection : all) {
    for (const auto* end : {&connection.sends, &connection.receives}) {
      if (auto fault = find_shared_end(algorithm, *end)) return fault;
    }
  }
  for (const Connection& connection : all) {
    if (auto fault = find_unmatched(algorithm, connection)) return fault;
  }
  return std::nullopt;
}

std::optional<StepPlace> awaited(const Algorithm& algorithm, StepPlace waiting) {
  const Dependency& dependency = *algorithm.step(waiting).waits_for;
  const std::vector<ThreadBlock>& blocks = algorithm.gpus[waiting.gpu].blocks;
  for (std::uint32_t block = 0; block < blocks.size(); ++block) {
    if (blocks[block].id != dependency.block) continue;
    const std::vector<Step>& steps = blocks[block].steps;
    const auto named = std::lower_bound(
        steps.begin(), steps.end(), dependency.number,
        [](const Step& step, std::uint32_t number) { return step.number < number; });
    const auto ends = std::find_if(named, steps.end(), [](const Step& s) { return s.publishes; });
    if (ends != steps.end()) {
      return StepPlace{waiting.gpu, block, static_cast<std::uint32_t>(ends - steps.begin())};
    }
  }
  return std::nullopt;
}

std::optional<Fault> find_endless_wait(const Algorithm& algorithm) {
  for (const StepPlace place : algorithm.steps()) {
    const auto& dependency = algorithm.step(place).waits_for;
    if (!dependency || awaited(algorithm, place)) continue;
    return Fault{
        Fault::Kind::NeverPublished,
        fmt::format("{} waits for tb {} step {}, but no step of that thread block from there "
                    "on is announced (hasdep=\"1\").",
                    describe(algorithm, place), dependency->block, dependency->number),
        {place}};
  }
  return std::nullopt;
}

StepGraph::StepGraph(const Algorithm& algorithm, const std::vector<Connection>& connections,
                     bool bounded, std::uint32_t chunks_per_transmission)
    : algorithm_(algorithm), chunks_per_transmission_(chunks_per_transmission), first_block_(1, 0) {
  for (const Gpu& gpu : algorithm.gpus) {
    first_block_.push_back(first_block_.back() + static_cast<std::uint32_t>(gpu.blocks.size()));
  }
  const std::vector<StepPlace> steps = algorithm.steps();
  std::size_t events = 0;
  std::size_t edges = 0;
  for (const StepPlace place : steps) {
    const std::uint32_t count = parts(place);
    const StepType type = algorithm.step(place).type;
    events += count;
    edges += (sends(type) ? 3 : 1) * count + (algorithm.step(place).waits_for ? 1 : 0);
  }
  transfer::GraphBuilder builder;
  builder.reserve(events, edges);
  transmissions_.reserve(events);
  first_events_.resize(first_block_.back());
  for (const StepPlace place : steps) {
    const std::uint32_t block = first_block_[place.gpu] + place.block;
    first_events_[block].push_back(static_cast<Event>(transmissions_.size()));
    for (std::uint32_t part = 0; part < parts(place); ++part) {
      builder.add_event(block);
      transmissions_.push_back({place, part});
    }
  }
  for (const StepPlace place : steps) {
    if (!algorithm.step(place).waits_for) continue;
    const auto last = awaited(algorithm, place);
    invariant(last.has_value(), "every wait of a graph ends");
    builder.add_edge(first_event(*last) + parts(*last) - 1, first_event(place),
                     EdgeKind::Dependency);
  }
  const std::size_t capacity =
      bounded ? fifo_capacity(algorithm.protocol) : transfer::kUnboundedCapacity;
  for (const Connection& connection : connections) {
    builder.connect(events_of(connection.sends), events_of(connection.receives), capacity);
  }
  graph_ = std::move(builder).build();
}

transfer::ProcessRange StepGraph::processes(std::uint32_t gpu) const {
  return {first_block_[gpu], first_block_[gpu + 1] - first_block_[gpu]};
}

std::vector<Wait> StepGraph::cycle() const {
  std::vector<Wait> waits;
  for (const transfer::Edge& edge : graph_.cycle())
    waits.push_back({at(edge.from).step, edge.kind});
  return waits;
}

std::vector<StepPlace> StepGraph::steps_before(std::span<const Event> events) const {
  std::vector<StepPlace> steps;
  for (const Event event : graph_.before(events)) {
    if (steps.empty() || steps.back() != at(event).step) steps.push_back(at(event).step);
  }
  return steps;
}

std::vector<StepPlace> StepGraph::steps_before(StepPlace place) const {
  const Event first[] = {first_event(place)};
  return steps_before(first);
}

Event StepGraph::first_event(StepPlace place) const {
  return first_events_[first_block_[place.gpu] + place.block][place.step];
}

std::uint32_t StepGraph::parts(StepPlace place) const {
  const std::uint32_t count = std::max(1U, algorithm_.step(place).count);
  return (count - 1) / chunks_per_transmission_ + 1;
}

std::vector<Event> StepGraph::events_of(const std::vector<StepPlace>& steps) const {
  std::vector<Event> events;
  events.reserve(steps.size());
  for (const StepPlace place : steps) {
    for (std::uint32_t part = 0; part < parts(place); ++part) {
      events.push_back(first_event(place) + part);
    }
  }
  return events;
}

std::optional<Fault> find_deadlock(const Algorithm& algorithm, const StepGraph& graph) {
  if (!graph.order().has_cycle()) return std::nullopt;
  const std::vector<Wait> cycle = graph.cycle();
  std::string reason;
  Fault fault{kind_of(cycle), {}, {}, {}, {}, cycle};
  for (const Wait& wait : cycle) {
    fault.steps.push_back(wait.step);
    reason +=
        fmt::format("{} goes before ({}) ", describe(algorithm, wait.step), to_string(wait.before));
  }
  fault.reason =
      fmt::format("{}{}: none of them can start.", reason, describe(algorithm, cycle.front().step));
  return fault;
}

}  // namespace p2::msccl
