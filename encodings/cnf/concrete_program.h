#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/program.h"

namespace p2::cnf {

/// One step of a given program, by the devices that are simulated.
struct ConcreteStep {
  Collective collective = Collective::AllReduce;
  std::vector<Group> groups;    ///< in the order in which they are judged
  bool of_instruction = false;  ///< was given with slice and form
  bool allowed = true;          ///< by the dialect; bare groups always are
};

/// A given program over the devices that have to be simulated: all of them or, where every class
/// goes through the same, one class.
///
/// One class stands for all if every group lies inside a class and, with devices numbered by their
/// position in their class, every step has the same list of groups in each class. All classes start
/// alike, up to the names of contributors; a rule looks at the order of the devices of a group,
/// which positions keep, and at no name; so they stay alike. Their groups are refused by the same
/// rule, and since each class lists its groups in the same order, the first refused group of the
/// program and the first of the simulated class meet the same rule.
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
