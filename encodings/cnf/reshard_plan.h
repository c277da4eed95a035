#pragma once

#include <cstddef>

#include "encodings/judgement.h"
#include "p2/limits.h"
#include "engine/reshard/plans/plan.h"

namespace p2::cnf {

/// The query `reshard-plan`: is this plan right?
struct PlanQuery {
  /// Plans of more operations are not judged.
  static constexpr std::size_t kMostOperations = 2000;

  const reshard::Plan* plan = nullptr;
  Limits limits = {};
};

/// Asks rule by rule whether some element, whose coordinates are bits, shows that the plan breaks
/// it. Devices wait for ever exactly if there is a set of steps and transfers, not empty, of which
/// each waits for another one of the set.
PlanJudgement judge(const PlanQuery& query);

}  // namespace p2::cnf
