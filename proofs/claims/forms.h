#pragma once

#include <vector>

#include "engine/program/instruction.h"

namespace p2::claims {

/// Every slice and form of a linear hierarchy (not the lattice) that forms groups of at least two
/// devices, under each of its names: InsideGroup, Parallel, Master, each by slice and ancestor.
std::vector<GroupShape> named_shapes(const SynthesisHierarchy& hierarchy);

}  // namespace p2::claims
