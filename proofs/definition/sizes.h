#pragma once

#include <cstdint>
#include <vector>

#include "engine/collective/language/definition.h"
#include "proofs/definition/step.h"

namespace p2::definition {

/// Whether those premises hold that depend on n and k alone, so that a state of this size may
/// satisfy all.
bool admits(const language::Definition& definition, std::uint32_t devices, std::uint32_t chunks);

/// Sizes of more than `max_group` devices or more chunks than shapes_of has, at which a definition
/// may behave as at none of those: the smallest size for each combination of values that its
/// conditions on n and k alone take, those around its constants, and a few that are larger in
/// general. In a fixed order, without repetition.
std::vector<Shape> probe_shapes(const language::Definition& definition, std::uint32_t max_group);

}  // namespace p2::definition
