#pragma once

#include <cstddef>

#include "encodings/judgement.h"
#include "encodings/z3/budget.h"
#include "engine/reshard/plans/plan.h"

namespace p2::z3_encoding {

/// The query `reshard-plan`: is this plan right?
struct PlanQuery {
  /// Plans of more operations are not judged.
  static constexpr std::size_t kMostOperations = 2000;

  const reshard::Plan* plan = nullptr;
  Budget budget = {};
};

/// Asks rule by rule whether some element, whose coordinates are integer unknowns, shows that the
/// plan breaks it: it is in a box and not in the buffer, in one half of a transfer and not in the
/// other, in two boxes at once, in a box that is sent and in none received before, in a region and
/// in none received. Devices do not wait for ever if every step and every transfer can have a time
/// such that a transfer is later than the beginning of its two steps and earlier than the next.
PlanJudgement judge(const PlanQuery& query);

}  // namespace p2::z3_encoding
