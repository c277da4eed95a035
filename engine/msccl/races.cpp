#include "engine/msccl/races.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace p2::msccl {
namespace {

/// The races on one GPU: only its own steps touch its memory. Every event, wherever it runs, has a
/// clock: how many events of each thread block of this GPU are over when it is.
class GpuRaces {
 public:
  GpuRaces(const Algorithm& algorithm, const MemoryLayout& layout,
           const HappensBefore& happens_before, std::uint32_t gpu, LimitWatch& watch)
      : algorithm_(algorithm),
        layout_(layout),
        happens_before_(happens_before),
        gpu_(gpu),
        watch_(watch),
        blocks_(algorithm.gpus[gpu].blocks.size()),
        bytes_(happens_before.events().size() * blocks_ * sizeof(std::uint32_t)) {
    watch_.take(bytes_);
    clocks_.resize(happens_before.events().size() * blocks_);
  }
  ~GpuRaces() { watch_.give_back(bytes_); }
  GpuRaces(const GpuRaces&) = delete;
  GpuRaces& operator=(const GpuRaces&) = delete;

  std::optional<Fault> first() {
    for (const std::uint32_t event : happens_before_.order()) {
      watch_.step();
      advance(event);
      const Event& at = happens_before_.events()[event];
      if (at.step.gpu != gpu_) continue;
      const std::uint64_t size = happens_before_.chunks_per_transmission();
      for (const Access& access : layout_.accesses(at.step)) {
        if (access.chunk / size != at.part) continue;
        if (auto fault = conflict(event, access)) return fault;
        Last& last = cells_.try_emplace(access.cell, blocks_).first->second;
        (access.writes ? last.writes : last.reads)[at.step.block] = event;
      }
    }
    return std::nullopt;
  }

 private:
  /// By thread block: the last event that touched a cell.
  struct Last {
    explicit Last(std::size_t blocks) : writes(blocks), reads(blocks) {}
    std::vector<std::optional<std::uint32_t>> writes;
    std::vector<std::optional<std::uint32_t>> reads;
  };

  std::uint32_t& clock(std::uint32_t event, std::size_t block) {
    return clocks_[event * blocks_ + block];
  }

  void advance(std::uint32_t event) {
    for (const HappensBefore::Arrow& arrow : happens_before_.into(event)) {
      for (std::size_t block = 0; block < blocks_; ++block) {
        clock(event, block) = std::max(clock(event, block), clock(arrow.from, block));
      }
    }
    const StepPlace place = happens_before_.events()[event].step;
    if (place.gpu == gpu_) ++clock(event, place.block);
  }

  std::optional<Fault> conflict(std::uint32_t event, const Access& access) {
    const auto found = cells_.find(access.cell);
    if (found == cells_.end()) return std::nullopt;
    for (std::uint32_t block = 0; block < blocks_; ++block) {
      for (const auto* last : {&found->second.writes, &found->second.reads}) {
        const auto& other = (*last)[block];
        const bool conflicting = access.writes || last == &found->second.writes;
        // An event of this GPU is number clock(itself, its block) in its thread block.
        if (other && conflicting && clock(event, block) < clock(*other, block)) {
          return fault(*other, event, access);
        }
      }
    }
    return std::nullopt;
  }

  Fault fault(std::uint32_t first, std::uint32_t second, const Access& access) const {
    const StepPlace one = happens_before_.events()[first].step;
    const StepPlace other = happens_before_.events()[second].step;
    return {
        Fault::Kind::DataRace,
        fmt::format("{} and {} both touch {}, at least one writes it, and nothing orders them.",
                    describe(algorithm_, one), describe(algorithm_, other), describe(access.cell)),
        {one, other},
        access.cell,
        happens_before_.before({first, second})};
  }

  const Algorithm& algorithm_;
  const MemoryLayout& layout_;
  const HappensBefore& happens_before_;
  std::uint32_t gpu_;
  LimitWatch& watch_;
  std::size_t blocks_;
  std::size_t bytes_;
  std::vector<std::uint32_t> clocks_;
  std::map<Cell, Last> cells_;
};

/// Threads copy the chunks of a step at the same time.
std::optional<Fault> race_inside(const Algorithm& algorithm, const MemoryLayout& layout,
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

}  // namespace

std::optional<Fault> race(const Algorithm& algorithm, const MemoryLayout& layout,
                          const HappensBefore& happens_before, LimitWatch& watch) {
  for (const StepPlace place : algorithm.steps()) {
    watch.step();
    if (auto fault = race_inside(algorithm, layout, place)) {
      fault->schedule = happens_before.before_step(place);
      return fault;
    }
  }
  for (std::uint32_t gpu = 0; gpu < algorithm.gpus.size(); ++gpu) {
    // The steps of one thread block are in order.
    if (algorithm.gpus[gpu].blocks.size() < 2) continue;
    if (auto fault = GpuRaces(algorithm, layout, happens_before, gpu, watch).first()) return fault;
  }
  return std::nullopt;
}

}  // namespace p2::msccl
