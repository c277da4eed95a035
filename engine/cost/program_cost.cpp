#include "engine/cost/program_cost.h"

#include <algorithm>
#include <numeric>

namespace p2 {
namespace {

ProgramCost sum(std::vector<const StepCost*> steps) {
  ProgramCost cost{std::move(steps), 0, 0};
  for (const StepCost* step : cost.steps) {
    cost.latency += step->latency;
    cost.seconds_per_byte += step->seconds_per_byte;
  }
  return cost;
}

/// The first whole size above `size` at which program `other`, a line that falls below that of
/// `best`, is ahead of it in the ranking.
Integer overtakes(const ProgramCost& best, const ProgramCost& other, bool other_goes_first) {
  const Rational meet =
      (other.latency - best.latency) / (best.seconds_per_byte - other.seconds_per_byte);
  const Integer whole = numerator(meet) / denominator(meet);
  const bool exactly = Rational(whole) == meet;
  return exactly && other_goes_first ? whole : whole + 1;
}

}  // namespace

Verdict ProgramPricer::derive(const Program& program, Dialect dialect, const Limits& limits,
                              const SeeStep& see) {
  const auto observe = [&](std::size_t done, const SystemState& state) {
    if (done == program.steps.size()) return;
    const Step& next = program.steps[done];
    std::vector<std::uint32_t> rows;
    rows.reserve(next.groups.size());
    for (const Group& group : next.groups) {
      rows.push_back(states_.sets().size(states_.held(state[group.front()])));
    }
    see(next, rows);
  };
  return check(program, dialect, states_, kernels_, limits, observe);
}

PricedProgram ProgramPricer::price(const Program& program, Dialect dialect, const Limits& limits) {
  std::vector<const StepCost*> steps;
  Verdict verdict = derive(program, dialect, limits, [&](const Step& step, const auto& rows) {
    steps.push_back(&steps_.price(step, rows, program.devices));
  });
  return {std::move(verdict), sum(std::move(steps))};
}

std::vector<std::vector<LinkLoad>> ProgramPricer::loads(const Program& program, Dialect dialect) {
  std::vector<std::vector<LinkLoad>> all;
  derive(program, dialect, {}, [&](const Step& step, const auto& rows) {
    all.push_back(steps_.loads(step, rows, program.devices));
  });
  return all;
}

ProgramCost price_allreduce(const std::vector<Group>& classes, std::uint32_t devices,
                            StepPricer& pricer) {
  const std::vector<std::uint32_t> all(classes.size(), devices);
  return sum({&pricer.price({Collective::AllReduce, classes, std::nullopt}, all, devices)});
}

std::vector<std::size_t> ranking(const std::vector<const ProgramCost*>& costs,
                                 const Rational& bytes) {
  std::vector<Rational> seconds;
  seconds.reserve(costs.size());
  for (const ProgramCost* cost : costs) seconds.push_back(cost->seconds(bytes));
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return seconds[a] < seconds[b]; });
  return order;
}

std::vector<Reign> reigns(const std::vector<const ProgramCost*>& costs, const Integer& low,
                          const Integer& high) {
  std::vector<Reign> found;
  for (Integer at = low; at <= high; at = found.back().to + 1) {
    const std::size_t best = ranking(costs, at).front();
    Integer next = high + 1;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (costs[i]->seconds_per_byte >= costs[best]->seconds_per_byte) continue;
      next = std::min(next, overtakes(*costs[best], *costs[i], i < best));
    }
    found.push_back({at, next - 1, best});
  }
  return found;
}

}  // namespace p2
