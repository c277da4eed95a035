#include "engine/msccl/replay.h"

#include <algorithm>

#include "engine/msccl/connections.h"
#include "engine/msccl/happens_before.h"
#include "engine/msccl/result.h"
#include "engine/msccl/schedule_run.h"

namespace p2::msccl {
namespace {

bool exists(const Algorithm& algorithm, StepPlace place) {
  return place.gpu < algorithm.gpus.size() &&
         place.block < algorithm.gpus[place.gpu].blocks.size() &&
         place.step < algorithm.block(place).steps.size();
}

bool all_exist(const Algorithm& algorithm, const Fault& fault) {
  const auto there = [&](StepPlace place) { return exists(algorithm, place); };
  const auto waits = [&](const Wait& wait) { return there(wait.step); };
  return std::all_of(fault.steps.begin(), fault.steps.end(), there) &&
         std::all_of(fault.schedule.begin(), fault.schedule.end(), there) &&
         std::all_of(fault.cycle.begin(), fault.cycle.end(), waits);
}

/// Finding these takes no more than one look at every step.
bool same_mismatch(const Algorithm& algorithm, const std::vector<Connection>& all,
                   const Fault& fault) {
  const auto found = mismatch(algorithm, all);
  return found && found->kind == fault.kind && found->steps == fault.steps;
}

/// Whether `first` is send (or receive) k of a connection and `second` receive k (or send
/// k + capacity).
bool joined(const Algorithm& algorithm, const std::vector<Connection>& all, StepPlace first,
            StepPlace second, Before why) {
  const std::size_t apart = why == Before::Message ? 0 : fifo_capacity(algorithm.protocol);
  for (const Connection& connection : all) {
    const auto& from = why == Before::Message ? connection.sends : connection.receives;
    const auto& to = why == Before::Message ? connection.receives : connection.sends;
    const auto found = std::find(from.begin(), from.end(), first);
    if (found == from.end()) continue;
    const std::size_t k = static_cast<std::size_t>(found - from.begin()) + apart;
    if (k < to.size() && to[k] == second) return true;
  }
  return false;
}

bool goes_before(const Algorithm& algorithm, const std::vector<Connection>& all, const Wait& wait,
                 StepPlace next) {
  switch (wait.before) {
    case Before::Order:
      return wait.step.gpu == next.gpu && wait.step.block == next.block &&
             wait.step.step < next.step;
    case Before::Dependency:
      return algorithm.step(next).waits_for && awaited(algorithm, next) == wait.step;
    case Before::Message:
    case Before::Capacity:
      return joined(algorithm, all, wait.step, next, wait.before);
  }
  return false;
}

bool shows_cycle(const Algorithm& algorithm, const std::vector<Connection>& all,
                 const Fault& fault) {
  for (std::size_t i = 0; i < fault.cycle.size(); ++i) {
    const StepPlace next = fault.cycle[(i + 1) % fault.cycle.size()].step;
    if (!goes_before(algorithm, all, fault.cycle[i], next)) return false;
  }
  return !fault.cycle.empty();
}

bool clash(const MemoryLayout& layout, StepPlace first, StepPlace second, const Cell& cell) {
  for (const Access& one : layout.accesses(first)) {
    for (const Access& other : layout.accesses(second)) {
      if (one.cell != cell || other.cell != cell || !(one.writes || other.writes)) continue;
      if (first != second || one.chunk != other.chunk) return true;
    }
  }
  return false;
}

bool shows_race(const Algorithm& algorithm, const MemoryLayout& layout,
                const std::vector<Connection>& all, const Fault& fault) {
  if (fault.steps.size() != 2 || !fault.cell) return false;
  ScheduleRun run(algorithm, all);
  for (const StepPlace place : fault.schedule) {
    if (!run.ready(place)) return false;
    run.run(place);
  }
  return run.ready(fault.steps[0]) && run.ready(fault.steps[1]) &&
         clash(layout, fault.steps[0], fault.steps[1], *fault.cell);
}

bool shows_result(const Algorithm& algorithm, const MemoryLayout& layout,
                  const std::vector<Connection>& all, const Fault& fault) {
  if (!layout.collective()) return false;
  for (const StepPlace place : algorithm.steps()) {
    if (algorithm.step(place).type == StepType::ResidualAdd) return false;
  }
  const HappensBefore happens_before(algorithm, all, true);
  if (happens_before.has_cycle()) return false;
  const Limits none;
  LimitWatch watch(none);
  const auto found = wrong_result(algorithm, layout, all, happens_before, watch);
  return found && found->kind == fault.kind && found->cell == fault.cell &&
         found->steps == fault.steps;
}

bool no_wait_is_endless(const Algorithm& algorithm) {
  const std::vector<StepPlace> steps = algorithm.steps();
  return std::all_of(steps.begin(), steps.end(), [&](StepPlace place) {
    return !algorithm.step(place).waits_for || awaited(algorithm, place);
  });
}

}  // namespace

bool shows(const Algorithm& algorithm, const Fault& fault) {
  using enum Fault::Kind;
  const bool called_so = fault.in_place ? algorithm.in_place : algorithm.out_of_place;
  if (!called_so || !all_exist(algorithm, fault)) return false;
  const MemoryLayout layout(algorithm, fault.in_place);
  if (fault.kind == OutOfBounds) {
    return fault.steps.size() == 1 && layout.beyond(fault.steps[0]).has_value();
  }
  if (fault.kind == NeverPublished) {
    return fault.steps.size() == 1 && algorithm.step(fault.steps[0]).waits_for &&
           !awaited(algorithm, fault.steps[0]);
  }
  const std::vector<Connection> all = connections(algorithm);
  if (fault.kind < NeverPublished) return same_mismatch(algorithm, all, fault);
  const auto inside = [&](StepPlace place) { return !layout.beyond(place); };
  const std::vector<StepPlace> steps = algorithm.steps();
  if (mismatch(algorithm, all) || !no_wait_is_endless(algorithm) ||
      !std::all_of(steps.begin(), steps.end(), inside)) {
    return false;
  }
  if (fault.kind < DataRace) return shows_cycle(algorithm, all, fault);
  if (fault.kind == DataRace) return shows_race(algorithm, layout, all, fault);
  return fault.kind <= LostContribution && shows_result(algorithm, layout, all, fault);
}

}  // namespace p2::msccl
