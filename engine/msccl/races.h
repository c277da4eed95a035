#pragma once

#include <optional>

#include "engine/msccl/happens_before.h"

namespace p2::msccl {

/// The first data race, in the order of `happens_before`: two steps, or two chunks of one, that
/// touch the same cell with nothing to order them, one of them writing. Preconditions: no step is
/// out of bounds, and `happens_before` has no cycle.
std::optional<Fault> race(const Algorithm& algorithm, const MemoryLayout& layout,
                          const HappensBefore& happens_before);

}  // namespace p2::msccl
