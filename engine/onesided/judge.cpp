#include "engine/onesided/judge.h"

#include <utility>

#include "p2/error.h"

namespace p2::onesided {

UnrollingDecision judge(const Unrolling& unrolling, const Limits& limits) {
  LimitWatch watch(limits, "check of a one-sided plan");
  Ordering ordering(unrolling, watch);
  match_in_all_interleavings(ordering, watch);
  const transfer::HappensBefore time = ordering.graph(Ordering::Graph::Time);
  UnrollingDecision decision;
  decision.violation = find_deadlock(ordering, time, decision.open, watch);
  if (decision.violation || decision.open) return decision;
  if (ordering.ambiguous().empty()) {
    decision.violation = find_race(ordering, time, watch);
  } else {
    decision = search_interleavings(ordering, time, watch);
  }
  if (decision.violation || decision.open) return decision;
  decision.violation = find_wrong_result(ordering, time, watch, decision.open);
  return decision;
}

namespace {

/// Whether several blocks, or several threads of one, may signal or wait on one counter.
bool shares_counters(const Unrolling& unrolling) {
  using User = std::pair<std::uint32_t, std::uint32_t>;  // block and lane
  std::vector<std::optional<User>> signals(unrolling.counters.size());
  std::vector<std::optional<User>> waits(unrolling.counters.size());
  const auto differs = [](std::optional<User>& last, const User& now) {
    const bool other = last && *last != now;
    last = now;
    return other;
  };
  for (std::uint32_t b = 0; b < unrolling.blocks.size(); ++b) {
    const bool single = unrolling.blocks[b].single_thread;
    for (const Operation& each : unrolling.blocks[b].operations) {
      const User user{b, single ? 0 : each.lane};
      using enum Operation::Kind;
      if ((each.kind == Signal && differs(signals[each.object], user)) ||
          (each.kind == PushSignal && differs(signals[each.counter], user)) ||
          (each.kind == Wait && differs(waits[each.object], user))) {
        return true;
      }
    }
  }
  return false;
}

/// A stop of one launch alone, whose waits need signals of the next one. Launches that leave
/// signals over may hide it from those that follow.
UnrollingDecision judge_one_launch(const Unrolling& unrolling, const Limits& limits) {
  LimitWatch watch(limits, "check of a one-sided plan");
  const Ordering ordering(unrolling, watch);
  const transfer::HappensBefore time = ordering.graph(Ordering::Graph::Time);
  UnrollingDecision decision;
  decision.violation = find_deadlock(ordering, time, decision.open, watch);
  return decision.violation || decision.open ? decision : find_stop(ordering, time, watch);
}

}  // namespace

PlanDecision judge_unrollings(const std::string& source, std::size_t count, std::uint32_t launches,
                              const Unroll& unroll, const Limits& limits) {
  PlanDecision decision;
  for (std::size_t k = 0; k < count; ++k) {
    auto unrolled = unroll(k, launches);
    UnrollingDecision of_one;
    if (const auto* const first = std::get_if<Unrolling>(&unrolled);
        first != nullptr && shares_counters(*first)) {
      of_one = judge_one_launch(std::get<Unrolling>(unroll(k, 1)), limits);
      unrolled = unroll(k, launches + kLaunchesBeyond);
      if (auto* const longer = std::get_if<Unrolling>(&unrolled)) longer->judged = launches;
    }
    UnrollingDecision found;
    if (auto* const violation = std::get_if<Violation>(&unrolled)) {
      found.violation = std::move(*violation);
    } else {
      const auto& unrolling = std::get<Unrolling>(unrolled);
      decision.sizes.push_back(unrolling.sizes);
      found = judge(unrolling, limits);
      if (!found.violation && (of_one.violation || !found.open)) found = std::move(of_one);
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

PlanDecision judge(const Plan& plan, const std::string& source, const Limits& limits) {
  const std::vector<Sizes> sizes = sizes_to_check(plan);
  return judge_unrollings(
      source, sizes.size(), launches_to_check(plan),
      [&](std::size_t k, std::uint32_t launches) {
        return unroll(plan, source, sizes[k], launches);
      },
      limits);
}

PlanDecision judge(const TextPlan& plan, const std::string& source, const Limits& limits) {
  return judge_unrollings(
      source, 1, launches_to_check(plan),
      [&](std::size_t, std::uint32_t launches) { return unroll(plan, source, launches); }, limits);
}

}  // namespace p2::onesided
