#include "engine/strategy/placed/choice.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "engine/strategy/pairwise.h"

namespace p2::operations {

System system_of(const Machine& machine, const std::string& source) {
  std::vector<p2::Level> levels;
  std::vector<Interconnect> interconnects;
  std::int64_t devices_below = 1;
  for (const Level& level : machine.levels) {
    const auto size = static_cast<std::uint32_t>(level.size);
    levels.insert(levels.begin(), {level.name, size});
    Interconnect& made = interconnects.emplace_back();
    made.name = level.name;
    made.level = level.name;
    made.span = size;
    made.bytes_per_second = level.bandwidth * devices_below;
    devices_below *= level.size;
  }
  return {"machine", Hierarchy(std::move(levels), {source}), std::move(interconnects)};
}

ReductionAxes PlacedConfiguration::axes_of(const std::vector<std::size_t>& dimensions) const {
  ReductionAxes axes;
  for (const std::size_t dimension : dimensions) {
    if (axis_of[dimension]) axes.push_back(*axis_of[dimension]);
  }
  return axes;
}

std::vector<PlacedConfiguration> placed_configurations(const Operation& operation,
                                                       const Hierarchy& hierarchy) {
  constexpr std::size_t kMost = std::size_t{1} << 12U;
  const std::int64_t devices = hierarchy.devices();
  std::vector<PlacedConfiguration> found;
  for (const Configuration& configuration :
       configurations(operation, devices, DeviceUse::Dividing)) {
    std::vector<p2::Axis> axes;
    std::vector<std::optional<std::uint32_t>> axis_of(configuration.size());
    for (std::size_t d = 0; d < configuration.size(); ++d) {
      if (configuration[d] == 1) continue;
      axis_of[d] = static_cast<std::uint32_t>(axes.size());
      axes.push_back(
          {fmt::format("a{}", axes.size()), static_cast<std::uint32_t>(configuration[d])});
    }
    const auto copies = static_cast<std::uint32_t>(devices / product(configuration));
    if (copies > 1 || axes.empty()) axes.push_back({"copies", copies});
    const Axes named(std::move(axes), {operation.name});
    for (const Placement& placement :
         first_placements(hierarchy, named, {operation.name}, kMost + 1)) {
      if (found.size() == kMost) {
        throw std::invalid_argument(fmt::format(
            "operation {} has more than {} placed configurations", operation.name, kMost));
      }
      found.push_back({configuration, DeviceGrid(hierarchy, named, placement), axis_of});
    }
  }
  return found;
}

std::string to_string(const PlacedConfiguration& placed, const Operation& operation) {
  const std::string splits = configuration_text(operation, placed.configuration);
  const bool one_way =
      product(placed.configuration) == 1 || placed.grid.hierarchy().levels().size() == 1;
  return one_way ? splits : splits + " " + to_string(placed.grid.placement());
}

}  // namespace p2::operations
