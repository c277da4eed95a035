#pragma once

#include <memory>

#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/module_relation.h"

namespace p2::hlo {

/// Decides whether the outputs of two modules are equal as real numbers, by the engine of the
/// options, or by those that are affordable, in the order that decides soonest. Throws LimitReached
/// before it compares, and IllFormed.
ModuleDecision compare_under_relation(const std::shared_ptr<const Module>& before,
                                      const std::shared_ptr<const Module>& after,
                                      const Devices& devices, const ModuleRelation& relation,
                                      const ComparisonOptions& options, const Limits& limits);

/// What the other engines find, with what a solver finds: Disagreement where both are sure of
/// different answers.
ModuleDecision agreed(ModuleDecision decision, ModuleDecision solver);

}  // namespace p2::hlo
