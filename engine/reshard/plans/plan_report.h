#pragma once

#include <string>

#include "engine/reshard/plans/plan_check.h"
#include "p2/json.h"

namespace p2::reshard {

/// A plan as a value of the format `reshard-plan/1`, to be embedded in a larger document; to_json()
/// writes the file.
Json plan_json(const Plan& plan);

/// A fault: rule, device, step and operation (from 1), the other operations, the elements.
Json fault_json(const PlanFault& fault);

/// A table of the devices with their regions and the operations of their steps: `>5` sends to
/// device 5, `<5` receives from it. Limited to the first devices and steps; ends with a newline.
std::string draw(const Plan& plan);

}  // namespace p2::reshard
