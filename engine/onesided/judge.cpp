#include "engine/onesided/judge.h"

#include <utility>

#include "p2/error.h"

namespace p2::onesided {

UnrollingDecision judge(const Unrolling& unrolling, const Limits& limits) {
  LimitWatch watch(limits, "check of a one-sided plan");
  const Ordering ordering(unrolling, watch);
  const transfer::HappensBefore time = ordering.graph(Ordering::Graph::Time);
  UnrollingDecision decision;
  decision.violation = find_deadlock(ordering, time, decision.open);
  if (decision.violation || decision.open) return decision;
  decision.violation = find_race(ordering, time, watch);
  if (decision.violation) return decision;
  decision.violation = find_wrong_result(ordering, time, watch, decision.open);
  return decision;
}

PlanDecision judge(const Plan& plan, const std::string& source, const Limits& limits) {
  PlanDecision decision;
  for (const Sizes& sizes : sizes_to_check(plan)) {
    auto unrolled = unroll(plan, source, sizes, launches_to_check(plan));
    UnrollingDecision found;
    if (auto* const violation = std::get_if<Violation>(&unrolled)) {
      found.violation = std::move(*violation);
    } else {
      const auto& unrolling = std::get<Unrolling>(unrolled);
      decision.sizes.push_back(unrolling.sizes);
      found = judge(unrolling, limits);
      if (found.violation) found.violation->sizes = unrolling.sizes;
    }
    if (found.violation) {
      for (Happening& each : found.violation->happenings) each.where.source = source;
      decision.outcome = Outcome::Refuted;
      decision.violation = std::move(found.violation);
      decision.open.clear();
      decision.reason.clear();
      return decision;
    }
    if (found.open && decision.open.empty()) {
      decision.outcome = Outcome::Undecided;
      decision.open = found.open->name;
      decision.reason = found.open->reason;
    }
  }
  return decision;
}

}  // namespace p2::onesided
