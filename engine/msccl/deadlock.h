#pragma once

#include <optional>

#include "engine/msccl/happens_before.h"

namespace p2::msccl {

/// The first step whose wait has no end.
std::optional<Fault> endless_wait(const Algorithm& algorithm);

/// A cycle of `happens_before`, named after what it takes to close it: a full connection, a
/// dependency, or orders alone.
std::optional<Fault> deadlock(const Algorithm& algorithm, const HappensBefore& happens_before);

}  // namespace p2::msccl
