#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/program/instance.h"
#include "engine/program/program.h"

namespace p2::cnf {

/// What programs are made of: the devices that are simulated, and the sets of groups that a step
/// may form, in the order in which its choices are numbered (docs/certificates.md).
struct Stage {
  struct Shape {
    /// The instruction that forms them, its pattern not set; nothing where they stand for
    /// themselves.
    std::optional<GroupShape> name;
    std::vector<Group> groups;  ///< of at least two devices, each ascending, by first device
    bool master = false;        ///< groups that no InsideGroup or Parallel forms
  };

  std::uint32_t devices() const { return static_cast<std::uint32_t>(class_of.size()); }

  std::uint32_t chunks = 0;
  std::vector<std::uint32_t> class_of;  ///< of every device, the number of its reduction class
  std::vector<Shape> shapes;            ///< no two with the same groups
};

/// The devices that have to be simulated, as points with one coordinate per level of the synthesis
/// hierarchy, and the instructions over them. Groups are read off the table of forms by comparing
/// coordinates; the engine's lowering is not used, so that a mistake there cannot hide here.
///
/// Over (d), collapsed and the lattice one reduction class is simulated, with the chunks of the
/// whole system (why that is exact: engine/program/synthesis.h).
class Coordinates {
 public:
  explicit Coordinates(const Instance& instance);

  std::uint32_t devices() const { return static_cast<std::uint32_t>(points_.size()); }
  std::uint32_t chunks() const { return chunks_; }

  /// The groups of at least two devices that a shape forms, by simulated device numbers; each
  /// ascending, ordered by first device. `shape.pattern` is not looked at.
  std::vector<Group> groups(const GroupShape& shape) const;

  /// One shape for every distinct, non-empty set of groups.
  std::vector<Stage::Shape> distinct_shapes() const;
  Stage stage() const { return {chunks_, class_, distinct_shapes()}; }

 private:
  std::vector<GroupShape> linear_shapes() const;
  std::vector<GroupShape> lattice_shapes() const;

  bool lattice_;
  std::uint32_t chunks_;
  std::uint32_t levels_;
  std::vector<std::vector<std::uint32_t>> points_;
  std::vector<std::uint32_t> class_;
};

/// One step of a given program, by the devices that are simulated.
struct ConcreteStep {
  Collective collective = Collective::AllReduce;
  std::vector<Group> groups;    ///< in the order in which they are judged
  bool of_instruction = false;  ///< was given with slice and form
  bool allowed = true;          ///< by the dialect; bare groups always are
};

/// A given program over the devices to simulate: all of them or, where all classes behave alike, one
/// class.
///
/// One class represents all if every group lies inside a class and, with devices numbered by their
/// position in their class, every step has the same list of groups in each class. All classes start
/// equal up to the names of contributors. A rule depends on the order of the devices of a group,
/// which positions keep, and on no name, so the classes stay equal: their groups violate the same
/// rules. Each class lists its groups in the same order, so the first violation of the program and
/// that of the simulated class are of the same rule.
struct ConcreteProgram {
  std::uint32_t devices = 0;  ///< simulated
  std::uint32_t chunks = 0;   ///< of the whole system
  std::vector<Group> classes;
  std::vector<ConcreteStep> steps;
};

/// The groups of steps with a shape are formed by Coordinates and not taken from the step;
/// `instance` is needed where there is such a step.
ConcreteProgram concrete(const Program& program, const Instance* instance, Dialect dialect);

}  // namespace p2::cnf
