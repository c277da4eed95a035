#pragma once

#include <string>

#include "engine/hlo/module.h"

namespace p2::hlo {

/// A module that ModuleBuilder made, in XLA's HLO text. Collectives have channels 1, 2, ….
std::string to_hlo(const Module& module);

/// The same in StableHLO, in the pretty form of MLIR. Groups of an all-reduce that differ in
/// size are filled up with -1.
std::string to_stablehlo(const Module& module);

}  // namespace p2::hlo
