#include "engine/msccl/verdict.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine/transfer/races.h"
#include "p2/error.h"

namespace p2::msccl {
namespace {

std::optional<Fault> find_overrun(const Algorithm& algorithm, const MemoryLayout& layout) {
  for (const StepPlace place : algorithm.steps()) {
    if (const auto overrun = layout.find_overrun(place)) {
      return Fault{Fault::Kind::OutOfBounds,
                   fmt::format("{} {}.", describe(algorithm, place), *overrun),
                   {place}};
    }
  }
  return std::nullopt;
}

/// Why the result is undecided; empty if it can be decided.
std::string open_question(const Algorithm& algorithm) {
  for (const StepPlace place : algorithm.steps()) {
    if (algorithm.step(place).type == StepType::ResidualAdd) {
      return describe(algorithm, place) + " is a residual add, whose effect is not interpreted.";
    }
  }
  if (Collective::of(algorithm)) return {};
  return fmt::format("The result of coll=\"{}\" with {} chunks on {} GPUs is not known.",
                     algorithm.collective, algorithm.chunks, algorithm.gpus.size());
}

AlgorithmDecision refuted(Fault fault, bool in_place) {
  fault.in_place = in_place;
  return {{Outcome::Refuted, std::move(fault), {}}, {}, {}};
}

AlgorithmDecision undecided(std::string reason, Property open) {
  return {{Outcome::Undecided, {}, std::move(reason)}, {}, open};
}

/// Prefers a cycle without full connections: its explanation is simpler.
std::optional<Fault> find_simplest_deadlock(const Algorithm& algorithm,
                                            const std::vector<Connection>& all,
                                            const StepGraph& bounded) {
  if (!bounded.order().has_cycle()) return std::nullopt;
  const StepGraph unbounded(algorithm, all, false);
  return find_deadlock(algorithm, unbounded.order().has_cycle() ? unbounded : bounded);
}

/// What does not depend on whether an algorithm is called in place: computed once.
struct Ordering {
  std::vector<Connection> connections;
  StepGraph graph;
};

/// Checks connections and deadlocks; sets `ordering` unless it finds a fault.
std::optional<Fault> find_ordering_fault(const Algorithm& algorithm, const LimitWatch& watch,
                                         Property& open, std::optional<Ordering>& ordering) {
  open = Property::Connections;
  std::vector<Connection> all = connections(algorithm);
  if (auto fault = find_mismatch(algorithm, all)) return fault;
  if (auto fault = find_endless_wait(algorithm)) return fault;
  open = Property::Deadlocks;
  watch.check();
  StepGraph graph(algorithm, all, true);
  if (auto fault = find_simplest_deadlock(algorithm, all, graph)) return fault;
  ordering.emplace(Ordering{std::move(all), std::move(graph)});
  return std::nullopt;
}

/// `open` is the property being checked. Throws LimitReached.
AlgorithmDecision judge_called(const Algorithm& algorithm, bool in_place, LimitWatch& watch,
                               Property& open, std::optional<Ordering>& ordering) {
  open = Property::Bounds;
  const MemoryLayout layout(algorithm, in_place);
  if (auto fault = find_overrun(algorithm, layout)) return refuted(*fault, in_place);
  if (!ordering) {
    if (auto fault = find_ordering_fault(algorithm, watch, open, ordering)) {
      return refuted(*fault, in_place);
    }
  }
  open = Property::Races;
  watch.check();
  if (auto fault = find_race(algorithm, layout, ordering->graph, watch)) {
    return refuted(*fault, in_place);
  }
  open = Property::Result;
  if (std::string question = open_question(algorithm); !question.empty()) {
    return undecided(std::move(question), open);
  }
  if (auto fault =
          find_wrong_result(algorithm, layout, ordering->connections, ordering->graph, watch)) {
    return refuted(*fault, in_place);
  }
  return {{}, find_safe_sizes(algorithm, ordering->connections, layout, watch), {}};
}

AlgorithmDecision judge_within(const Algorithm& algorithm, bool in_place, const Limits& limits,
                               std::optional<Ordering>& ordering) {
  LimitWatch watch(limits, "checking an algorithm");
  Property open = Property::Bounds;
  try {
    return judge_called(algorithm, in_place, watch, open, ordering);
  } catch (const LimitReached&) {
    return undecided(kLimitReached, open);
  }
}

/// Whether the safe sizes of `a` are smaller. Precondition: `a` is established.
bool is_stricter(const AlgorithmDecision& a, const AlgorithmDecision& b) {
  return b.safe_sizes && a.safe_sizes->max_bytes &&
         (!b.safe_sizes->max_bytes || *a.safe_sizes->max_bytes < *b.safe_sizes->max_bytes);
}

}  // namespace

Property property_of(Fault::Kind kind) {
  using enum Fault::Kind;
  if (kind == OutOfBounds) return Property::Bounds;
  if (kind <= NeverPublished) return Property::Connections;
  if (kind <= CapacityDeadlock) return Property::Deadlocks;
  return kind == DataRace ? Property::Races : Property::Result;
}

AlgorithmDecision judge(const Algorithm& algorithm, const Limits& limits) {
  std::optional<Ordering> ordering;
  if (!algorithm.in_place) return judge_within(algorithm, false, limits, ordering);
  if (!algorithm.out_of_place) return judge_within(algorithm, true, limits, ordering);
  AlgorithmDecision out_of_place = judge_within(algorithm, false, limits, ordering);
  if (out_of_place.outcome == Outcome::Refuted) return out_of_place;
  AlgorithmDecision in_place = judge_within(algorithm, true, limits, ordering);
  if (in_place.outcome == Outcome::Refuted) return in_place;
  if (out_of_place.outcome != Outcome::Established) return out_of_place;
  return is_stricter(out_of_place, in_place) ? out_of_place : in_place;
}

namespace {

using transfer::Event;

/// The chunks of a step are copied concurrently.
std::optional<Fault> find_race_inside(const Algorithm& algorithm, const MemoryLayout& layout,
                                      StepPlace place) {
  if (algorithm.step(place).count < 2) return std::nullopt;
  std::map<Cell, std::uint32_t> written;
  const std::vector<Access> accesses = layout.accesses(place);
  for (const Access& access : accesses) {
    if (access.writes) written[access.cell] = access.chunk;
  }
  for (const Access& access : accesses) {
    const auto found = written.find(access.cell);
    if (access.writes || found == written.end() || found->second == access.chunk) continue;
    return Fault{
        Fault::Kind::DataRace,
        fmt::format("{} reads {} as chunk {} and writes it as chunk {}, at the same time.",
                    describe(algorithm, place), describe(access.cell), access.chunk, found->second),
        {place, place},
        access.cell};
  }
  return std::nullopt;
}

/// Only the steps of a GPU access its memory.
std::optional<Fault> find_race_on(std::uint32_t gpu, const Algorithm& algorithm,
                                  const MemoryLayout& layout, const StepGraph& graph,
                                  LimitWatch& watch) {
  const auto for_each_access = [&](Event event, auto visit) {
    const Transmission& transmission = graph.at(event);
    for (const Access& access : layout.accesses(transmission.step)) {
      if (access.chunk / graph.chunks_per_transmission() != transmission.part) continue;
      visit(access.cell, access.writes);
    }
  };
  const auto race =
      transfer::find_race<Cell>(graph.order(), graph.processes(gpu), for_each_access, watch);
  if (!race) return std::nullopt;
  const StepPlace first = graph.at(race->first).step;
  const StepPlace second = graph.at(race->second).step;
  const Event events[] = {race->first, race->second};
  return Fault{
      Fault::Kind::DataRace,
      fmt::format("{} and {} both touch {}, at least one writes it, and nothing orders them.",
                  describe(algorithm, first), describe(algorithm, second),
                  describe(race->location)),
      {first, second},
      race->location,
      graph.steps_before(events)};
}

std::set<std::uint32_t> chunk_counts(const Algorithm& algorithm) {
  std::set<std::uint32_t> counts;
  for (const StepPlace place : algorithm.steps()) {
    const Step& step = algorithm.step(place);
    if (step.type != StepType::Nop) counts.insert(step.count);
  }
  return counts;
}

std::optional<Fault> find_fault_with(const Algorithm& algorithm,
                                     const std::vector<Connection>& connections,
                                     const MemoryLayout& layout, std::uint32_t chunks,
                                     LimitWatch& watch) {
  watch.check();
  const StepGraph graph(algorithm, connections, true, chunks);
  if (auto fault = find_deadlock(algorithm, graph)) return fault;
  return find_race(algorithm, layout, graph, watch);
}

}  // namespace

std::optional<Fault> find_race(const Algorithm& algorithm, const MemoryLayout& layout,
                               const StepGraph& graph, LimitWatch& watch) {
  for (const StepPlace place : algorithm.steps()) {
    watch.step();
    if (auto fault = find_race_inside(algorithm, layout, place)) {
      fault->schedule = graph.steps_before(place);
      return fault;
    }
  }
  for (std::uint32_t gpu = 0; gpu < algorithm.gpus.size(); ++gpu) {
    // The steps of one thread block are ordered.
    if (algorithm.gpus[gpu].blocks.size() < 2) continue;
    if (auto fault = find_race_on(gpu, algorithm, layout, graph, watch)) return fault;
  }
  return std::nullopt;
}

SafeSizes find_safe_sizes(const Algorithm& algorithm, const std::vector<Connection>& connections,
                          const MemoryLayout& layout, LimitWatch& watch) {
  const std::set<std::uint32_t> counts = chunk_counts(algorithm);
  if (counts.empty()) return {};
  // With fewer chunks per transmission steps have more transmissions; only some sizes change that.
  const auto parts = [&](std::uint32_t chunks) {
    std::vector<std::uint32_t> all;
    for (const std::uint32_t count : counts) all.push_back((count - 1) / chunks + 1);
    return all;
  };
  for (std::uint32_t chunks = std::min(*counts.rbegin(), kMaxChunksPerStep); chunks > 0; --chunks) {
    if (parts(chunks) == parts(chunks + 1)) continue;
    if (auto fault = find_fault_with(algorithm, connections, layout, chunks, watch)) {
      const std::uint64_t chunk_bytes = transmission_bytes(algorithm.protocol) / (chunks + 1);
      return {algorithm.chunks * chunk_bytes, std::move(fault)};
    }
  }
  return {};
}

}  // namespace p2::msccl
