#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "engine/onesided/plan.h"
#include "engine/onesided/violation.h"

namespace p2::onesided {

/// Whether a text is JSON whose top-level keys are those of an MSCCL++ execution plan.
bool is_plan_json(std::string_view text);

/// Reads an MSCCL++ execution plan. A plan with a missing field or an operation that the executor
/// refuses is a Violation (`malformed`). Throws InputError for text that is no JSON object.
std::variant<Plan, Violation> read_plan(const std::string& source, const std::string& text);

/// Writes a plan that read_plan() reads back, one op per line.
std::string to_json(const Plan& plan);

}  // namespace p2::onesided
