#pragma once

#include <cstddef>

#include "engine/reshard/plans/plan.h"
#include "p2/limits.h"
#include "p2/result.h"

namespace p2::cnf {

/// The query `reshard-plan`: does this plan obey all rules?
struct PlanQuery {
  /// Plans of more operations are undecided.
  static constexpr std::size_t kMaxOperations = 2000;

  const reshard::Plan* plan = nullptr;
  Limits limits = {};
};

/// Decides rule by rule whether some element, whose coordinates are bit vectors, violates it. There
/// is a deadlock iff there is a nonempty set of steps and transfers of which each waits for another
/// one of the set. Of the answer, `rule` is the first one that is broken; the outcome is undecided
/// where a limit is reached.
EngineAnswer judge(const PlanQuery& query);

}  // namespace p2::cnf
