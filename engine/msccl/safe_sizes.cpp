#include "engine/msccl/safe_sizes.h"

#include <algorithm>
#include <set>

#include "engine/msccl/deadlock.h"
#include "engine/msccl/loader_limits.h"
#include "engine/msccl/races.h"

namespace p2::msccl {
namespace {

std::set<std::uint32_t> counts_of(const Algorithm& algorithm) {
  std::set<std::uint32_t> counts;
  for (const StepPlace place : algorithm.steps()) {
    const Step& step = algorithm.step(place);
    if (step.type != StepType::Nop) counts.insert(step.count);
  }
  return counts;
}

std::optional<Fault> fault_with(const Algorithm& algorithm,
                                const std::vector<Connection>& connections,
                                const MemoryLayout& layout, std::uint32_t chunks,
                                LimitWatch& watch) {
  watch.check();
  const HappensBefore happens_before(algorithm, connections, true, chunks);
  if (auto fault = deadlock(algorithm, happens_before)) return fault;
  return race(algorithm, layout, happens_before, watch);
}

}  // namespace

SafeSizes safe_sizes(const Algorithm& algorithm, const std::vector<Connection>& connections,
                     const MemoryLayout& layout, LimitWatch& watch) {
  const std::set<std::uint32_t> counts = counts_of(algorithm);
  if (counts.empty()) return {};
  // With fewer chunks in a transmission the steps are cut finer, each at its own sizes.
  const auto parts = [&](std::uint32_t chunks) {
    std::vector<std::uint32_t> all;
    for (const std::uint32_t count : counts) all.push_back((count - 1) / chunks + 1);
    return all;
  };
  for (std::uint32_t chunks = std::min(*counts.rbegin(), kMostChunksOfStep); chunks > 0; --chunks) {
    if (parts(chunks) == parts(chunks + 1)) continue;
    if (auto fault = fault_with(algorithm, connections, layout, chunks, watch)) {
      const std::uint64_t chunk_bytes = transmission_bytes(algorithm.protocol) / (chunks + 1);
      return {algorithm.chunks * chunk_bytes, std::move(fault)};
    }
  }
  return {};
}

}  // namespace p2::msccl
