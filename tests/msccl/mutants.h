#pragma once

#include <functional>
#include <vector>

#include "schedules.h"

namespace p2::msccl {

/// A correct algorithm, what is done to it, and the verdict then: a rule, or `unknown`.
struct Mutant {
  const char* name;
  Algorithm original;
  std::function<void(Algorithm&)> change;
  const char* verdict;
};

/// At least one for every rule.
std::vector<Mutant> mutants();
/// Changes that keep a correct algorithm correct; the verdict is `valid`.
std::vector<Mutant> near_misses();

}  // namespace p2::msccl
