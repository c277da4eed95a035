#pragma once

#include <optional>

#include "engine/msccl/happens_before.h"
#include "engine/msccl/limit_met.h"

namespace p2::msccl {

/// The first data race, in the order of `happens_before`: two steps, or two chunks of one, that
/// touch the same cell with nothing to order them, one of them writing. Preconditions: no step is
/// out of bounds, and `happens_before` has no cycle. Throws LimitMet.
std::optional<Fault> race(const Algorithm& algorithm, const MemoryLayout& layout,
                          const HappensBefore& happens_before, LimitWatch& watch);

}  // namespace p2::msccl
