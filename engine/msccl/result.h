#pragma once

#include <optional>

#include "engine/msccl/happens_before.h"
#include "engine/msccl/limit_met.h"

namespace p2::msccl {

/// The first output chunk, by rank and place, that is not what the collective promises. Chunks are
/// multisets of contributions, so a contribution that is added twice is seen. Preconditions: the
/// collective is known, no step is a residual add, and there is no race and no cycle: then every
/// interleaving has this result. Throws LimitMet.
std::optional<Fault> wrong_result(const Algorithm& algorithm, const MemoryLayout& layout,
                                  const std::vector<Connection>& connections,
                                  const HappensBefore& happens_before, LimitWatch& watch);

}  // namespace p2::msccl
