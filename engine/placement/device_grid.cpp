#include "engine/placement/device_grid.h"

#include <algorithm>

#include "engine/base/invariant.h"

namespace p2 {

DeviceGrid::DeviceGrid(Hierarchy hierarchy, Axes axes, Placement placement)
    : hierarchy_(std::move(hierarchy)), axes_(std::move(axes)), placement_(std::move(placement)) {
  std::uint32_t stride = hierarchy_.devices();
  for (std::uint32_t level = 0; level < hierarchy_.levels().size(); ++level) {
    for (std::uint32_t axis = 0; axis < axes_.count(); ++axis) {
      const std::uint32_t size = placement_.factors[axis][level];
      if (size == 1) continue;
      stride /= size;
      factors_.push_back({axis, level, size, stride});
    }
  }
  invariant(stride == 1 && factors_.size() <= 20, "a placement does not number its devices");
}

FactorSet DeviceGrid::factors_of(const ReductionAxes& axes) const {
  FactorSet set = 0;
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    if (std::find(axes.begin(), axes.end(), factors_[f].axis) != axes.end()) {
      set |= FactorSet{1} << f;
    }
  }
  return set;
}

FactorSet DeviceGrid::factor_at(std::uint32_t axis, std::uint32_t level) const {
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    if (factors_[f].axis == axis && factors_[f].level == level) return FactorSet{1} << f;
  }
  return 0;
}

std::uint32_t DeviceGrid::coordinate(std::uint32_t device, std::uint32_t axis) const {
  std::uint32_t part = 0;
  for (const Factor& factor : factors_) {
    if (factor.axis == axis) part = part * factor.size + digit(device, factor);
  }
  return part;
}

std::vector<std::uint32_t> digit_sums(const std::vector<Factor>& factors, FactorSet set) {
  std::vector<std::uint32_t> sums{0};
  for (std::size_t f = 0; f < factors.size(); ++f) {
    if ((set >> f & 1U) == 0) continue;
    std::vector<std::uint32_t> extended;
    extended.reserve(sums.size() * factors[f].size);
    for (const std::uint32_t sum : sums) {
      for (std::uint32_t digit = 0; digit < factors[f].size; ++digit) {
        extended.push_back(sum + digit * factors[f].stride);
      }
    }
    sums = std::move(extended);
  }
  return sums;
}

std::vector<Group> DeviceGrid::groups(FactorSet reduced, FactorSet pinned) const {
  invariant((reduced & pinned) == 0, "a factor is both reduced and pinned");
  const std::vector<std::uint32_t> offsets = digit_sums(factors_, reduced);
  std::vector<Group> groups;
  for (const std::uint32_t base : digit_sums(factors_, all_factors() & ~(reduced | pinned))) {
    Group& group = groups.emplace_back(offsets);
    for (std::uint32_t& device : group) device += base;
  }
  return groups;
}

}  // namespace p2
