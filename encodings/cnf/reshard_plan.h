#pragma once

#include <cstddef>
#include <string>

#include "engine/limits.h"
#include "engine/reshard/plans/plan.h"

namespace p2::cnf {

/// The query `reshard-plan`: is this plan right?
struct PlanQuery {
  /// Plans of more operations are not judged.
  static constexpr std::size_t kMostOperations = 2000;

  const reshard::Plan* plan = nullptr;
  Limits limits = {};
};

/// What the SAT solver says of a plan.
struct PlanJudgement {
  bool known = false;
  std::string rule;  ///< the first that is broken, as reshard::to_string names it; empty: right
};

/// Asks rule by rule whether some element, whose coordinates are bits, shows that the plan breaks
/// it. Devices wait for ever exactly if there is a set of steps and transfers, not empty, of which
/// each waits for another one of the set.
PlanJudgement judge(const PlanQuery& query);

}  // namespace p2::cnf
