#include "engine/msccl/verdict.h"

#include <fmt/format.h>

#include "engine/msccl/result.h"
#include "p2/error.h"

namespace p2::msccl {
namespace {

std::optional<Fault> find_overrun(const Algorithm& algorithm, const MemoryLayout& layout) {
  for (const StepPlace place : algorithm.steps()) {
    if (const auto overrun = layout.find_overrun(place)) {
      return Fault{Fault::Kind::OutOfBounds,
                   fmt::format("{} {}.", describe(algorithm, place), *overrun),
                   {place}};
    }
  }
  return std::nullopt;
}

/// Why the result is undecided; empty if it can be decided.
std::string open_question(const Algorithm& algorithm) {
  for (const StepPlace place : algorithm.steps()) {
    if (algorithm.step(place).type == StepType::ResidualAdd) {
      return describe(algorithm, place) + " is a residual add, whose effect is not interpreted.";
    }
  }
  if (Collective::of(algorithm)) return {};
  return fmt::format("The result of coll=\"{}\" with {} chunks on {} GPUs is not known.",
                     algorithm.collective, algorithm.chunks, algorithm.gpus.size());
}

AlgorithmDecision refuted(Fault fault, bool in_place) {
  fault.in_place = in_place;
  return {{Outcome::Refuted, std::move(fault), {}}, {}, {}};
}

AlgorithmDecision undecided(std::string reason, Property open) {
  return {{Outcome::Undecided, {}, std::move(reason)}, {}, open};
}

/// Prefers a cycle without full connections: its explanation is simpler.
std::optional<Fault> find_simplest_deadlock(const Algorithm& algorithm,
                                            const std::vector<Connection>& all,
                                            const StepGraph& bounded) {
  if (!bounded.order().has_cycle()) return std::nullopt;
  const StepGraph unbounded(algorithm, all, false);
  return find_deadlock(algorithm, unbounded.order().has_cycle() ? unbounded : bounded);
}

/// What does not depend on whether an algorithm is called in place: computed once.
struct Ordering {
  std::vector<Connection> connections;
  StepGraph graph;
};

/// Checks connections and deadlocks; sets `ordering` unless it finds a fault.
std::optional<Fault> find_ordering_fault(const Algorithm& algorithm, const LimitWatch& watch,
                                         Property& open, std::optional<Ordering>& ordering) {
  open = Property::Connections;
  std::vector<Connection> all = connections(algorithm);
  if (auto fault = find_mismatch(algorithm, all)) return fault;
  if (auto fault = find_endless_wait(algorithm)) return fault;
  open = Property::Deadlocks;
  watch.check();
  StepGraph graph(algorithm, all, true);
  if (auto fault = find_simplest_deadlock(algorithm, all, graph)) return fault;
  ordering.emplace(Ordering{std::move(all), std::move(graph)});
  return std::nullopt;
}

/// `open` is the property being checked. Throws LimitReached.
AlgorithmDecision judge_called(const Algorithm& algorithm, bool in_place, LimitWatch& watch,
                               Property& open, std::optional<Ordering>& ordering) {
  open = Property::Bounds;
  const MemoryLayout layout(algorithm, in_place);
  if (auto fault = find_overrun(algorithm, layout)) return refuted(*fault, in_place);
  if (!ordering) {
    if (auto fault = find_ordering_fault(algorithm, watch, open, ordering)) {
      return refuted(*fault, in_place);
    }
  }
  open = Property::Races;
  watch.check();
  if (auto fault = find_race(algorithm, layout, ordering->graph, watch)) {
    return refuted(*fault, in_place);
  }
  open = Property::Result;
  if (std::string question = open_question(algorithm); !question.empty()) {
    return undecided(std::move(question), open);
  }
  if (auto fault =
          find_wrong_result(algorithm, layout, ordering->connections, ordering->graph, watch)) {
    return refuted(*fault, in_place);
  }
  return {{}, find_safe_sizes(algorithm, ordering->connections, layout, watch), {}};
}

AlgorithmDecision judge_within(const Algorithm& algorithm, bool in_place, const Limits& limits,
                               std::optional<Ordering>& ordering) {
  LimitWatch watch(limits, "checking an algorithm");
  Property open = Property::Bounds;
  try {
    return judge_called(algorithm, in_place, watch, open, ordering);
  } catch (const LimitReached&) {
    return undecided(kLimitReached, open);
  }
}

/// Whether the safe sizes of `a` are smaller. Precondition: `a` is established.
bool is_stricter(const AlgorithmDecision& a, const AlgorithmDecision& b) {
  return b.safe_sizes && a.safe_sizes->max_bytes &&
         (!b.safe_sizes->max_bytes || *a.safe_sizes->max_bytes < *b.safe_sizes->max_bytes);
}

}  // namespace

Property property_of(Fault::Kind kind) {
  using enum Fault::Kind;
  if (kind == OutOfBounds) return Property::Bounds;
  if (kind <= NeverPublished) return Property::Connections;
  if (kind <= CapacityDeadlock) return Property::Deadlocks;
  return kind == DataRace ? Property::Races : Property::Result;
}

AlgorithmDecision judge(const Algorithm& algorithm, const Limits& limits) {
  std::optional<Ordering> ordering;
  if (!algorithm.in_place) return judge_within(algorithm, false, limits, ordering);
  if (!algorithm.out_of_place) return judge_within(algorithm, true, limits, ordering);
  const AlgorithmDecision out_of_place = judge_within(algorithm, false, limits, ordering);
  if (out_of_place.outcome == Outcome::Refuted) return out_of_place;
  const AlgorithmDecision in_place = judge_within(algorithm, true, limits, ordering);
  if (in_place.outcome == Outcome::Refuted) return in_place;
  if (out_of_place.outcome != Outcome::Established) return out_of_place;
  return is_stricter(out_of_place, in_place) ? out_of_place : in_place;
}

}  // namespace p2::msccl
