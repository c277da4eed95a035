#pragma once

#include "engine/hlo/equality/comparison_context.h"

namespace p2::hlo {

/// Whether two values of `type` differ for certain: there are inputs, found by trying a few, for
/// which their numbers differ by more than rounding could do. False where an operation that is not
/// understood decides, and where no such inputs were found. The variables of the values are fixed.
bool certainly_different(ComparisonContext& context, Value before, Value after, ElementType type);

/// Whether the same operations that are not understood, of the same values, are in both.
bool same_unknowns(const ComparisonContext& context, Value a, Value b);

}  // namespace p2::hlo
