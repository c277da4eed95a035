#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/limit_watch.h"
#include "engine/onesided/ordering.h"
#include "engine/onesided/plan.h"
#include "engine/onesided/text_plan.h"
#include "engine/onesided/unrolling.h"
#include "p2/limits.h"
#include "p2/result.h"

namespace p2::onesided {

/// The decision about a plan, over all interleavings of any number of launches.
struct PlanDecision : Decision<Violation> {
  /// Why it is undecided, a stable name: `unknown-collective`, `ambiguous-match`, `limit`.
  std::string open = {};
  std::vector<std::string> sizes = {};  ///< that were examined
};

/// Why nothing was decided about one unrolling.
struct OpenQuestion {
  std::string name;  ///< as PlanDecision::open
  std::string reason;
};

/// What was found out about one unrolling.
struct UnrollingDecision {
  std::optional<Violation> violation = {};
  std::optional<OpenQuestion> open = {};
};

/// Decides about the launches of an unrolling, in the order of Rule. Throws LimitReached.
UnrollingDecision judge(const Unrolling& unrolling, const Limits& limits);

/// Decides about a plan for all its sizes. Positions of the violation have `source` as their file.
PlanDecision judge(const Plan& plan, const std::string& source, const Limits& limits);
PlanDecision judge(const TextPlan& plan, const std::string& source, const Limits& limits);

/// The same for what `unroll` makes of choice number k of the sizes, for so many launches.
using Unroll = std::function<std::variant<Unrolling, Violation>(std::size_t, std::uint32_t)>;
PlanDecision judge_unrollings(const std::string& source, std::size_t count, std::uint32_t launches,
                              const Unroll& unroll, const Limits& limits);

/// The first packet that is overwritten, operation that never ends, or wait without its signal.
std::optional<Violation> find_deadlock(const Ordering& ordering,
                                       const transfer::HappensBefore& time);

/// Adds to `ordering` the signals that precede waits in all interleavings, for counters whose
/// matching is ambiguous. Throws LimitReached.
void match_in_all_interleavings(Ordering& ordering, LimitWatch& watch);

/// A fault of a plan with ambiguous counters that the order of all interleavings does not decide:
/// whether one stops, or has a race. Precondition: `time` has no cycle. Throws LimitReached.
UnrollingDecision search_interleavings(Ordering& ordering, const transfer::HappensBefore& time,
                                       LimitWatch& watch);

/// The first race, in the order of Rule; `time` is the acyclic order of time. Throws LimitReached.
std::optional<Violation> find_race(const Ordering& ordering, const transfer::HappensBefore& time,
                                   LimitWatch& watch);

/// The first output cell that differs from the collective's definition, by launch, rank and index.
/// One schedule is executed, of which every interleaving has the result. Preconditions: no cycle,
/// no race. `open`: the collective is unknown. Throws LimitReached.
std::optional<Violation> find_wrong_result(const Ordering& ordering,
                                           const transfer::HappensBefore& time, LimitWatch& watch,
                                           std::optional<OpenQuestion>& open);

}  // namespace p2::onesided
