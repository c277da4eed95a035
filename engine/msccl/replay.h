#pragma once

#include "engine/msccl/fault.h"

namespace p2::msccl {

/// Whether what a fault says of an algorithm is so, found without looking for it: the schedule of
/// a race is run step by step, every arrow of a deadlock's cycle looked up, a wrong cell computed
/// once. For faults that were kept, or come from elsewhere; their numbers may be anything.
bool shows(const Algorithm& algorithm, const Fault& fault);

}  // namespace p2::msccl
