#include "engine/msccl/verdict.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/msccl/deadlock.h"
#include "engine/msccl/races.h"
#include "engine/msccl/result.h"

namespace p2::msccl {
namespace {

std::optional<Fault> out_of_bounds(const Algorithm& algorithm, const MemoryLayout& layout) {
  for (const StepPlace place : algorithm.steps()) {
    if (const auto beyond = layout.beyond(place)) {
      return Fault{Fault::Kind::OutOfBounds,
                   fmt::format("{} {}.", describe(algorithm, place), *beyond),
                   {place}};
    }
  }
  return std::nullopt;
}

/// Why the result cannot be said; empty where it can.
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

Verdict invalid(Fault fault, bool in_place) {
  fault.in_place = in_place;
  return {Verdict::Kind::Invalid, std::move(fault), {}, {}, {}};
}

/// The plainest reason for a deadlock: a cycle that closes without full connections, if there is
/// one.
std::optional<Fault> any_deadlock(const Algorithm& algorithm, const std::vector<Connection>& all,
                                  const HappensBefore& bounded) {
  if (!bounded.has_cycle()) return std::nullopt;
  const HappensBefore unbounded(algorithm, all, false);
  return unbounded.has_cycle() ? deadlock(algorithm, unbounded) : deadlock(algorithm, bounded);
}

/// What does not depend on how an algorithm is called: found once, for both ways.
struct Graph {
  std::vector<Connection> connections;
  HappensBefore happens_before;
};

/// The questions about connections and deadlocks; `graph` is there when they find nothing.
std::optional<Fault> fault_of_order(const Algorithm& algorithm, LimitWatch& watch, Question& open,
                                    std::optional<Graph>& graph) {
  open = Question::Connections;
  std::vector<Connection> all = connections(algorithm);
  if (auto fault = mismatch(algorithm, all)) return fault;
  if (auto fault = endless_wait(algorithm)) return fault;
  open = Question::Deadlocks;
  watch.check();
  HappensBefore happens_before(algorithm, all, true);
  if (auto fault = any_deadlock(algorithm, all, happens_before)) return fault;
  graph.emplace(Graph{std::move(all), std::move(happens_before)});
  return std::nullopt;
}

/// The questions one after the other; `open` is the one being looked at. Throws LimitMet.
Verdict judge_called(const Algorithm& algorithm, bool in_place, LimitWatch& watch, Question& open,
                     std::optional<Graph>& graph) {
  open = Question::Bounds;
  const MemoryLayout layout(algorithm, in_place);
  if (auto fault = out_of_bounds(algorithm, layout)) return invalid(*fault, in_place);
  if (!graph) {
    if (auto fault = fault_of_order(algorithm, watch, open, graph)) {
      return invalid(*fault, in_place);
    }
  }
  open = Question::Races;
  watch.check();
  if (auto fault = race(algorithm, layout, graph->happens_before, watch)) {
    return invalid(*fault, in_place);
  }
  open = Question::Result;
  if (std::string question = open_question(algorithm); !question.empty()) {
    return {Verdict::Kind::Unknown, {}, std::move(question), {}, open};
  }
  if (auto fault =
          wrong_result(algorithm, layout, graph->connections, graph->happens_before, watch)) {
    return invalid(*fault, in_place);
  }
  return {
      Verdict::Kind::Valid, {}, {}, safe_sizes(algorithm, graph->connections, layout, watch), {}};
}

Verdict judge_within(const Algorithm& algorithm, bool in_place, const Limits& limits,
                     std::optional<Graph>& graph) {
  LimitWatch watch(limits);
  Question open = Question::Bounds;
  try {
    return judge_called(algorithm, in_place, watch, open, graph);
  } catch (const LimitMet&) {
    return {Verdict::Kind::Unknown, {}, "A limit was met.", {}, open};
  }
}

}  // namespace

Question question_of(Fault::Kind kind) {
  using enum Fault::Kind;
  if (kind == OutOfBounds) return Question::Bounds;
  if (kind <= NeverPublished) return Question::Connections;
  if (kind <= CapacityDeadlock) return Question::Deadlocks;
  return kind == DataRace ? Question::Races : Question::Result;
}

Verdict judge(const Algorithm& algorithm, const Limits& limits) {
  std::optional<Graph> graph;
  if (!algorithm.in_place) return judge_within(algorithm, false, limits, graph);
  if (!algorithm.out_of_place) return judge_within(algorithm, true, limits, graph);
  const Verdict apart = judge_within(algorithm, false, limits, graph);
  if (apart.kind == Verdict::Kind::Invalid) return apart;
  const Verdict in_place = judge_within(algorithm, true, limits, graph);
  if (in_place.kind == Verdict::Kind::Invalid || apart.kind == Verdict::Kind::Valid) {
    const bool apart_is_stricter =
        in_place.safe_sizes && apart.safe_sizes->most_bytes &&
        (!in_place.safe_sizes->most_bytes ||
         *apart.safe_sizes->most_bytes < *in_place.safe_sizes->most_bytes);
    return apart_is_stricter ? apart : in_place;
  }
  return apart;
}

}  // namespace p2::msccl
