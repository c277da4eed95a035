#include "engine/msccl/deadlock.h"

#include <algorithm>

#include <fmt/format.h>

namespace p2::msccl {
namespace {

Fault::Kind kind_of(const std::vector<Wait>& cycle) {
  const auto has = [&](Before before) {
    return std::any_of(cycle.begin(), cycle.end(),
                       [&](const Wait& wait) { return wait.before == before; });
  };
  if (has(Before::Capacity)) return Fault::Kind::CapacityDeadlock;
  return has(Before::Dependency) ? Fault::Kind::DependencyDeadlock : Fault::Kind::OrderDeadlock;
}

}  // namespace

std::optional<Fault> endless_wait(const Algorithm& algorithm) {
  for (const StepPlace place : algorithm.steps()) {
    const auto& dependency = algorithm.step(place).waits_for;
    if (!dependency || awaited(algorithm, place)) continue;
    return Fault{
        Fault::Kind::NeverPublished,
        fmt::format("{} waits for tb {} step {}, but no step of that thread block from there "
                    "on is announced (hasdep=\"1\").",
                    describe(algorithm, place), dependency->block, dependency->number),
        {place}};
  }
  return std::nullopt;
}

std::optional<Fault> deadlock(const Algorithm& algorithm, const HappensBefore& happens_before) {
  if (!happens_before.has_cycle()) return std::nullopt;
  const std::vector<Wait> cycle = happens_before.cycle();
  std::string reason;
  Fault fault{kind_of(cycle), {}, {}, {}, {}, cycle};
  for (const Wait& wait : cycle) {
    fault.steps.push_back(wait.step);
    reason +=
        fmt::format("{} goes before ({}) ", describe(algorithm, wait.step), to_string(wait.before));
  }
  fault.reason =
      fmt::format("{}{}: none of them can start.", reason, describe(algorithm, cycle.front().step));
  return fault;
}

}  // namespace p2::msccl
