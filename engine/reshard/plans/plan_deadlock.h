#pragma once

#include <optional>

#include "engine/reshard/plans/plan_fault.h"

namespace p2::reshard {

/// A shortest ring of devices of which each waits for the next in a step that it cannot end; every
/// operation must have its partner. Nothing where all programs come to their end.
std::optional<PlanFault> find_deadlock(const Plan& plan, const Partners& partners, bool buffered);

}  // namespace p2::reshard
