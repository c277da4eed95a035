#include "encodings/cnf/coordinates.h"

#include <algorithm>
#include <map>

namespace p2::cnf {
namespace {

bool contains(const std::vector<std::uint32_t>& levels, std::uint32_t level) {
  return std::find(levels.begin(), levels.end(), level) != levels.end();
}

/// What a shape asks of a level: that group members agree there, that they stand at 0, or nothing.
enum class Demand : std::uint8_t { Agree, Zero, Any };

Demand demand_of(const GroupShape& shape, std::uint32_t level, bool lattice) {
  if (lattice) {
    if (contains(shape.slice, level)) return Demand::Any;
    return contains(shape.ancestor, level) ? Demand::Zero : Demand::Agree;
  }
  const std::uint32_t slice = shape.slice[0];
  if (shape.form == Form::InsideGroup) return level <= slice ? Demand::Agree : Demand::Any;
  if (level <= shape.ancestor[0]) return Demand::Agree;
  if (level <= slice) return Demand::Any;
  return shape.form == Form::Master ? Demand::Zero : Demand::Agree;
}

}  // namespace

Coordinates::Coordinates(const Instance& instance)
    : lattice_(instance.hierarchy.is_lattice()),
      chunks_(instance.grid.devices()),
      levels_(static_cast<std::uint32_t>(instance.hierarchy.levels().size())) {
  const DeviceGrid& grid = instance.grid;
  std::map<std::vector<std::uint32_t>, std::uint32_t> classes;
  for (std::uint32_t device = 0; device < grid.devices(); ++device) {
    std::vector<std::uint32_t> outside;
    for (std::uint32_t axis = 0; axis < grid.axes().count(); ++axis) {
      if (!contains(instance.reduction, axis)) outside.push_back(grid.coordinate(device, axis));
    }
    const bool first_class =
        std::all_of(outside.begin(), outside.end(), [](std::uint32_t part) { return part == 0; });
    if (instance.hierarchy.confined_to_reduction() && !first_class) continue;
    std::vector<std::uint32_t> point;
    for (const SynthesisLevel& level : instance.hierarchy.levels()) {
      std::uint32_t coordinate = 0;
      for (std::size_t f = 0; f < grid.factors().size(); ++f) {
        if ((level.factors >> f & 1U) == 0) continue;
        coordinate = coordinate * grid.factors()[f].size + grid.digit(device, grid.factors()[f]);
      }
      point.push_back(coordinate);
    }
    points_.push_back(std::move(point));
    class_.push_back(classes.emplace(outside, classes.size()).first->second);
  }
}

std::vector<Group> Coordinates::groups(const GroupShape& shape) const {
  std::map<std::vector<std::uint32_t>, Group> by_key;
  for (std::uint32_t device = 0; device < devices(); ++device) {
    std::vector<std::uint32_t> key;
    bool takes_part = true;
    for (std::uint32_t level = 0; level < levels_; ++level) {
      const Demand demand = demand_of(shape, level, lattice_);
      if (demand == Demand::Agree) key.push_back(points_[device][level]);
      takes_part = takes_part && (demand != Demand::Zero || points_[device][level] == 0);
    }
    if (takes_part) by_key[key].push_back(device);
  }
  std::vector<Group> groups;
  for (auto& [key, group] : by_key) {
    if (group.size() > 1) groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

std::vector<GroupShape> Coordinates::linear_shapes() const {
  std::vector<GroupShape> shapes;
  for (std::uint32_t slice = 0; slice < levels_; ++slice) {
    shapes.push_back({{slice}, Form::InsideGroup, {}, {}});
  }
  for (const Form form : {Form::Parallel, Form::Master}) {
    for (std::uint32_t slice = 0; slice < levels_; ++slice) {
      for (std::uint32_t ancestor = 0; ancestor < slice; ++ancestor) {
        shapes.push_back({{slice}, form, {ancestor}, {}});
      }
    }
  }
  return shapes;
}

std::vector<GroupShape> Coordinates::lattice_shapes() const {
  std::vector<GroupShape> shapes;
  // Of every level below root: 0 left alone, 1 reduced, 2 pinned.
  std::vector<std::uint32_t> role(levels_, 0);
  const auto choose = [&](const auto& self, std::uint32_t level) -> void {
    if (level == levels_) {
      GroupShape shape{{}, Form::Parallel, {}, {}};
      for (std::uint32_t i = 1; i < levels_; ++i) {
        if (role[i] == 1) shape.slice.push_back(i);
        if (role[i] == 2) shape.ancestor.push_back(i);
      }
      if (!shape.ancestor.empty()) shape.form = Form::Master;
      shapes.push_back(std::move(shape));
      return;
    }
    const bool varies = std::any_of(points_.begin(), points_.end(),
                                    [&](const auto& point) { return point[level] != 0; });
    const std::uint32_t roles = varies ? 3 : 1;
    for (std::uint32_t chosen = 0; chosen < roles; ++chosen) {
      role[level] = chosen;
      self(self, level + 1);
    }
  };
  choose(choose, 1);
  std::stable_sort(shapes.begin(), shapes.end(), [](const GroupShape& a, const GroupShape& b) {
    return std::pair(a.ancestor.size(), a.slice.size()) <
           std::pair(b.ancestor.size(), b.slice.size());
  });
  return shapes;
}

std::vector<Stage::Shape> Coordinates::distinct_shapes() const {
  std::vector<Stage::Shape> distinct;
  for (GroupShape& shape : lattice_ ? lattice_shapes() : linear_shapes()) {
    std::vector<Group> formed = groups(shape);
    const auto same = [&](const Stage::Shape& other) { return other.groups == formed; };
    if (formed.empty() || std::any_of(distinct.begin(), distinct.end(), same)) continue;
    const bool master = shape.form == Form::Master;
    distinct.push_back({std::move(shape), std::move(formed), master});
  }
  return distinct;
}

}  // namespace p2::cnf
