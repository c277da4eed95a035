#pragma once

#include "engine/hlo/flow.h"

namespace p2::hlo {

/// Throws IllFormed where the shapes of a node do not follow from those of its operands. What is
/// Opaque is not looked at.
void check_shapes(const Flow& flow, const Node& node);

}  // namespace p2::hlo
