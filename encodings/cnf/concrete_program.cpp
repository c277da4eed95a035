#include "encodings/cnf/concrete_program.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "encodings/cnf/coordinates.h"

namespace p2::cnf {
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
    if (instance == nullptr) throw std::invalid_argument("a step has a shape but no instance");
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
