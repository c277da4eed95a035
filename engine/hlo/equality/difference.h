#pragma once

#include "engine/hlo/equality/evaluation.h"

namespace p2::hlo {

/// Whether two values of `type` are proved to differ: on some concrete inputs their numbers differ
/// by more than rounding. False if an uninterpreted function occurs in the difference, and if the
/// search finds no such inputs. Precondition: the values are at fixed indices.
bool are_distinguishable(ComparisonContext& context, Value before, Value after, ElementType type);

/// Whether both values have the same uninterpreted subterms.
bool same_uninterpreted_terms(const ComparisonContext& context, Value a, Value b);

}  // namespace p2::hlo
