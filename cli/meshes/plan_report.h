#pragma once

#include <string>

#include "engine/reshard/plans/plan_fault.h"

namespace p2 {

/// The counterexample for machines: rule, device, step and operation (from 1), elements; null for a
/// plan that is right.
std::string counterexample_json(const reshard::PlanVerdict& verdict);

/// What every device has, is to end with, and does in its steps: `>5` sends to device 5, `<5`
/// receives from it. A large plan is cut short.
std::string draw(const reshard::Plan& plan);

}  // namespace p2
