#pragma once

#include <cstddef>

#include "encodings/z3/query.h"
#include "engine/reshard/plans/plan.h"
#include "p2/result.h"

namespace p2::z3_encoding {

/// The query `reshard-plan`: does this plan obey all rules?
struct PlanQuery {
  /// Plans of more operations are undecided.
  static constexpr std::size_t kMaxOperations = 2000;

  const reshard::Plan* plan = nullptr;
  Limits limits = {};
};

/// Decides rule by rule, in linear integer arithmetic, whether some element, whose coordinates are
/// unknowns, violates it: it is in a box and not in the buffer, in one half of a transfer and not
/// in the other, in two concurrent boxes, in a box that is sent and in none received before, in a
/// region and in none received. There is no deadlock iff every step and every transfer can have a
/// time such that a transfer is later than the beginning of its two steps and earlier than the next
/// ones. Of the answer, `rule` is the first one that is broken; the outcome is undecided where a
/// limit is reached.
EngineAnswer judge(const PlanQuery& query);

}  // namespace p2::z3_encoding
