#pragma once

#include "engine/msccl/fault.h"

namespace p2::msccl {

/// Whether a fault is one of this algorithm, by replaying it: the schedule of a race is executed,
/// the edges of a deadlock's cycle are looked up, a wrong cell is computed again. For faults from a
/// cache or from elsewhere: they need not even refer to steps that exist.
bool can_replay(const Algorithm& algorithm, const Fault& fault);

}  // namespace p2::msccl
