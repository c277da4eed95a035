#pragma once

#include <string>

#include "engine/hlo/equality/comparison_context.h"

namespace p2::hlo {

/// `x[3] of devices 0–3`, `2·x[0] of device 1 + y[0] of device 1`, at most a few of many terms.
/// Inputs have the names of `flow`.
std::string describe(const ComparisonContext& context, const Flow& flow, Value value);

}  // namespace p2::hlo
