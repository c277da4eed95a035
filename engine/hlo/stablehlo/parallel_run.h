#pragma once

#include <memory>

#include "engine/hlo/stablehlo/stablehlo_text.h"

namespace p2::hlo {

/// A run of StableHLO's interpreter as two modules without inputs: one that has the expected
/// constants, and one that runs the program on the given ones, each device on its own. Throws
/// InputError where there are not as many as devices need.
struct RunModules {
  std::shared_ptr<const Module> expected;
  std::shared_ptr<const Module> actual;
};
RunModules modules_of(const StableHloModule& module);

}  // namespace p2::hlo
