#include "engine/program/device_classes.h"

#include <algorithm>
#include <limits>
#include <map>

namespace p2 {
namespace {

std::uint32_t product(const DeviceGrid& grid, FactorSet digits) {
  std::uint32_t size = 1;
  for (std::size_t f = 0; f < grid.factors().size(); ++f) {
    if ((digits >> f & 1U) != 0) size *= grid.factors()[f].size;
  }
  return size;
}

bool is_rooted(Collective collective) {
  return collective == Collective::Reduce || collective == Collective::Broadcast;
}

}  // namespace

DeviceClasses::DeviceClasses(const Instance& instance, const std::vector<Step>& steps, Start start,
                             Alike alike)
    : grid_(instance.grid) {
  const FactorSet reduction = grid_.factors_of(instance.reduction);
  std::vector<FactorSet> sets;
  if (start == Start::RootSum) sets.push_back(reduction);
  for (const Step& step : steps) {
    const Pattern& pattern = step.shape->pattern;
    if (step.collective == Collective::AllReduce && alike == Alike::Chunks) continue;
    sets.push_back(pattern.pinned);
    if (is_rooted(step.collective)) sets.push_back(pattern.reduced);
  }
  std::map<std::vector<bool>, FactorSet> treated_alike;
  for (std::size_t f = 0; f < grid_.factors().size(); ++f) {
    std::vector<bool> where;
    for (const FactorSet set : sets) where.push_back((set >> f & 1U) != 0);
    if (std::ranges::find(where, true) != where.end()) treated_alike[where] |= FactorSet{1} << f;
  }
  for (const auto& [where, digits] : treated_alike) digits_.push_back(digits);
  if (!is_small()) return;
  const std::uint32_t chunks = grid_.devices();
  held_.assign(std::size_t{1} << digits_.size(),
               start == Start::Shards ? chunks / product(grid_, reduction) : chunks);
  if (start != Start::RootSum) return;
  for (std::uint32_t index = 0; index < count(); ++index) {
    if ((index & nonzero(reduction)) != 0) held_[index] = 0;
  }
}

std::uint64_t DeviceClasses::devices(std::uint32_t index) const {
  std::uint64_t devices = grid_.devices();
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    const std::uint32_t values = product(grid_, digits_[i]);
    devices = devices / values * ((index >> i & 1U) != 0 ? values - 1 : 1);
  }
  return devices;
}

std::uint32_t DeviceClasses::first_device(std::uint32_t index) const {
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    if ((index >> i & 1U) == 0) continue;
    std::uint32_t stride = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t f = 0; f < grid_.factors().size(); ++f) {
      if ((digits_[i] >> f & 1U) != 0) stride = std::min(stride, grid_.factors()[f].stride);
    }
    first += stride;
  }
  return first;
}

std::optional<std::uint32_t> DeviceClasses::held_by_roots(const Pattern& pattern) const {
  const std::uint32_t free = nonzero(grid_.all_factors() & ~(pattern.reduced | pattern.pinned));
  for (std::uint32_t index = 0; index < count(); ++index) {
    if ((index & ~free) == 0 && held_[index] != held_[0]) return std::nullopt;
  }
  return held_[0];
}

void DeviceClasses::take(const Step& step) {
  const Pattern& pattern = step.shape->pattern;
  const std::uint32_t size = group_size(grid_, pattern);
  for (std::uint32_t index = 0; index < count(); ++index) {
    if (!takes_part(index, pattern)) continue;
    switch (step.collective) {
      case Collective::AllReduce:
        break;
      case Collective::ReduceScatter:
        held_[index] /= size;
        break;
      case Collective::AllGather:
        held_[index] *= size;
        break;
      case Collective::Reduce:
        if (!is_root(index, pattern)) held_[index] = 0;
        break;
      case Collective::Broadcast:
        if (!is_root(index, pattern)) held_[index] = held_by_root(index, pattern);
        break;
    }
  }
}

std::uint32_t DeviceClasses::nonzero(FactorSet digits) const {
  std::uint32_t set = 0;
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    if ((digits_[i] & digits) != 0) set |= 1U << i;
  }
  return set;
}

std::uint32_t group_size(const DeviceGrid& grid, const Pattern& pattern) {
  return product(grid, pattern.reduced);
}

}  // namespace p2
