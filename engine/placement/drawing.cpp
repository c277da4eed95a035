#include "engine/placement/drawing.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2 {
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

std::string draw_placement(const DeviceGrid& grid, std::uint32_t most_devices) {
  const std::uint32_t devices = grid.devices();
  if (devices > most_devices) return {};
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
