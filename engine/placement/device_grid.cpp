#include "engine/placement/device_grid.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

namespace {

std::string marker(const DeviceGrid& grid, std::uint32_t device) {
  std::vector<std::uint32_t> parts;
  for (std::uint32_t axis = 0; axis < grid.axes().count(); ++axis) {
    parts.push_back(grid.coordinate(device, axis));
  }
  return fmt::format("{}", fmt::join(parts, "/"));
}

/// `rack 0 server 1`, for the line that starts at `device`; levels of size 1 are left out.
std::string line_label(const Hierarchy& hierarchy, std::size_t labelled, std::uint32_t device) {
  std::string label;
  std::uint32_t inside = hierarchy.devices();
  for (std::size_t j = 0; j < labelled; ++j) {
    const Level& level = hierarchy.levels()[j];
    inside /= level.size;
    if (level.size == 1) continue;
    label +=
        fmt::format("{}{} {}", label.empty() ? "" : " ", level.name, device / inside % level.size);
  }
  return label;
}

}  // namespace

std::string draw_placement(const DeviceGrid& grid, std::uint32_t max_devices) {
  const std::uint32_t devices = grid.devices();
  if (devices > max_devices) return {};
  const auto& levels = grid.hierarchy().levels();
  const std::uint32_t innermost = levels.back().size;
  const std::size_t labelled = levels.size() > 2 ? levels.size() - 2 : levels.size() - 1;
  std::uint32_t per_line = devices;
  for (std::size_t j = 0; j < labelled; ++j) per_line /= levels[j].size;

  std::vector<std::string> markers;
  for (std::uint32_t device = 0; device < devices; ++device)
    markers.push_back(marker(grid, device));
  std::size_t width = 0;
  for (const std::string& text : markers) width = std::max(width, text.size());
  std::size_t label_width = 0;
  for (std::uint32_t device = 0; device < devices; device += per_line) {
    label_width = std::max(label_width, line_label(grid.hierarchy(), labelled, device).size());
  }
  std::string drawing;
  for (std::uint32_t device = 0; device < devices; ++device) {
    if (device % per_line == 0) {
      drawing += fmt::format("{:<{}}", line_label(grid.hierarchy(), labelled, device), label_width);
    } else if (device % innermost == 0) {
      drawing += " |";
    }
    drawing += fmt::format(" {:<{}}", markers[device], width);
    if ((device + 1) % per_line == 0) {
      drawing.erase(drawing.find_last_not_of(' ') + 1);
      drawing += '\n';
    }
  }
  return drawing;
}

std::string draw_matrix(const DeviceGrid& grid) {
  std::size_t name_width = 0;
  for (const Axis& axis : grid.axes()) name_width = std::max(name_width, axis.name.size());
  std::string drawing(name_width, ' ');
  for (const Level& level : grid.hierarchy().levels()) {
    drawing += fmt::format("  {:>5}", level.name);
  }
  drawing += '\n';
  for (std::size_t i = 0; i < grid.axes().count(); ++i) {
    drawing += fmt::format("{:<{}}", grid.axes()[i].name, name_width);
    for (std::size_t j = 0; j < grid.hierarchy().levels().size(); ++j) {
      const std::size_t width = std::max<std::size_t>(5, grid.hierarchy().levels()[j].name.size());
      drawing += fmt::format("  {:>{}}", grid.placement().factors[i][j], width);
    }
    drawing += '\n';
  }
  return drawing;
}

}  // namespace p2
