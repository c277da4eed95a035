#pragma once

#include <random>
#include <string>

#include "engine/reshard/plans/plan.h"

namespace p2::reshard {

/// A plan with one or two small mistakes, and what they are.
struct Mutant {
  Plan plan;
  std::string what;
};

/// Drops, doubles, reorders, retargets, shifts or resizes a transfer, or one of its halves, reads
/// it from the other buffer, or moves it to another step.
Mutant mutated(const Plan& plan, std::mt19937& random);

}  // namespace p2::reshard
