#pragma once

#include "proofs/kernel/problem.h"

namespace p2::kernel {

/// What is looked at: the whole system, or, where all classes look alike, the first class alone.
/// Then devices and contributors are positions in the class, chunks stay those of the system, and
/// what holds of one class holds of all, because nothing that the rules look at changes when one
/// class is renamed to another in device order.
struct Stage {
  std::uint32_t devices = 0;
  std::vector<Numbers> classes;
  std::vector<Step> steps;
  Numbers part;      ///< of every device of the system: its class, or 0 for the whole system
  Numbers position;  ///< of every device of the system: its device on the stage
};

Stage whole_system(const Problem& problem, std::vector<Step> steps);
/// Objects unless every class is the first one's image in all the steps.
Stage first_class(const Problem& problem, std::vector<Step> steps);

}  // namespace p2::kernel
