#include "encodings/cnf/stage.h"

#include <algorithm>
#include <map>
#include <optional>

#include "engine/base/invariant.h"

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

namespace {

/// The instructions of one instance as groups of the whole system.
class Forming {
 public:
  Forming(const Instance& instance, const std::vector<Group>& classes)
      : coordinates_(instance), shapes_(coordinates_.distinct_shapes()), classes_(classes) {}

  std::vector<Group> groups(const GroupShape& shape) const {
    std::vector<Group> formed = coordinates_.groups(shape);
    if (coordinates_.devices() == coordinates_.chunks()) return formed;
    // One class was formed: device i of it is the i-th member of every class.
    std::vector<Group> everywhere;
    for (const Group& members : classes_) {
      for (const Group& group : formed) {
        Group& repeated = everywhere.emplace_back();
        for (const std::uint32_t position : group) repeated.push_back(members[position]);
      }
    }
    std::sort(everywhere.begin(), everywhere.end());
    return everywhere;
  }

  bool master(const GroupShape& shape) const {
    const std::vector<Group> formed = coordinates_.groups(shape);
    return std::any_of(shapes_.begin(), shapes_.end(), [&](const auto& distinct) {
      return distinct.master && distinct.groups == formed;
    });
  }

 private:
  Coordinates coordinates_;
  std::vector<Stage::Shape> shapes_;
  const std::vector<Group>& classes_;
};

std::vector<ConcreteStep> on_whole_system(const Program& program, const Instance* instance,
                                          Dialect dialect) {
  std::optional<Forming> forming;
  std::vector<ConcreteStep> steps;
  for (const Step& step : program.steps) {
    if (!step.shape) {
      steps.push_back({step.collective, step.groups});
      continue;
    }
    invariant(instance != nullptr, "a step has a shape but no instance");
    if (!forming) forming.emplace(*instance, program.classes);
    const bool allowed = dialect == Dialect::Printed || step.collective == Collective::AllReduce ||
                         !forming->master(*step.shape);
    steps.push_back({step.collective, forming->groups(*step.shape), true, allowed});
  }
  return steps;
}

/// Where every device stands: its class and its position there.
struct Place {
  std::size_t in_class = 0;
  std::uint32_t position = 0;
};

std::vector<Place> places(const Program& program) {
  std::vector<Place> places(program.devices);
  for (std::size_t i = 0; i < program.classes.size(); ++i) {
    for (std::uint32_t at = 0; at < program.classes[i].size(); ++at) {
      places[program.classes[i][at]] = {i, at};
    }
  }
  return places;
}

/// The groups of one class by positions, if every class has this list.
std::optional<std::vector<Group>> common(const std::vector<Group>& groups,
                                         const std::vector<Place>& places, std::size_t classes) {
  std::vector<std::vector<Group>> of_class(classes);
  for (const Group& group : groups) {
    const std::size_t home = places[group[0]].in_class;
    Group& positions = of_class[home].emplace_back();
    for (const std::uint32_t device : group) {
      if (places[device].in_class != home) return std::nullopt;
      positions.push_back(places[device].position);
    }
  }
  const auto same = [&](const auto& other) { return other == of_class[0]; };
  if (!std::all_of(of_class.begin(), of_class.end(), same)) return std::nullopt;
  return of_class[0];
}

/// The program on one class, if that stands for all.
std::optional<ConcreteProgram> folded(const ConcreteProgram& whole, const Program& program) {
  const std::size_t size = program.classes[0].size();
  for (const Group& members : program.classes) {
    if (members.size() != size) return std::nullopt;
  }
  ConcreteProgram one{static_cast<std::uint32_t>(size), whole.chunks, {{}}, whole.steps};
  for (std::uint32_t position = 0; position < size; ++position) {
    one.classes[0].push_back(position);
  }
  const std::vector<Place> where = places(program);
  for (ConcreteStep& step : one.steps) {
    std::optional<std::vector<Group>> groups = common(step.groups, where, program.classes.size());
    if (!groups) return std::nullopt;
    step.groups = std::move(*groups);
  }
  return one;
}

}  // namespace

ConcreteProgram concrete(const Program& program, const Instance* instance, Dialect dialect) {
  ConcreteProgram whole{program.devices, program.devices, program.classes,
                        on_whole_system(program, instance, dialect)};
  std::optional<ConcreteProgram> one = folded(whole, program);
  return one ? std::move(*one) : std::move(whole);
}

}  // namespace p2::cnf
