#include "engine/msccl/verdict.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine/transfer/races.h"

namespace p2::msccl {
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
