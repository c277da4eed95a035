#include "engine/cost/program_cost.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace p2 {

void StepPricer::add_group(const Step& step, const Group& group, std::uint32_t rows,
                           Rational& latency) {
  Rational waited = 0;
  for (const Stage& stage : transfers(step.collective, algorithm_, group, rows, network_)) {
    Rational slowest = 0;
    for (const Transfer& transfer : stage.transfers) {
      network_.route(transfer.from, transfer.to, route_);
      for (const LinkId link : route_) {
        if (amounts_[link] == 0) loaded_.push_back(link);
        amounts_[link] += transfer.amount;
      }
      slowest = std::max(slowest, network_.latency(route_));
    }
    waited += slowest * stage.rounds;
  }
  latency = std::max(latency, waited);
}

StepPricer::Loads StepPricer::take_busiest(std::uint64_t unit) {
  std::map<std::uint32_t, LinkId> busiest;  // interconnect → link
  for (const LinkId link : loaded_) {
    LinkId& most = busiest.try_emplace(network_.interconnect_of(link), link).first->second;
    if (amounts_[link] > amounts_[most] || (amounts_[link] == amounts_[most] && link < most)) {
      most = link;
    }
  }
  Loads loads;
  for (const auto& [interconnect, link] : busiest) loads[link] = ratio(amounts_[link], unit);
  for (const LinkId link : loaded_) amounts_[link] = 0;
  loaded_.clear();
  return loads;
}

void StepPricer::take_all(std::uint64_t unit, Loads& loads) {
  for (const LinkId link : loaded_) {
    loads[link] += ratio(amounts_[link], unit);
    amounts_[link] = 0;
  }
  loaded_.clear();
}

StepPricer::Loads StepPricer::loads_of(const Step& step, std::span<const std::uint32_t> rows,
                                       bool all, Rational& latency) {
  std::set<std::size_t> sizes;
  for (const Group& group : step.groups) sizes.insert(group.size());
  sizes.erase(1);
  Loads loads;
  for (const std::size_t size : sizes) {
    for (std::size_t i = 0; i < step.groups.size(); ++i) {
      if (step.groups[i].size() == size) add_group(step, step.groups[i], rows[i], latency);
    }
    // Whole numbers can be compared as they are; sums over several sizes need fractions.
    if (sizes.size() == 1 && !all) return take_busiest(2 * size);
    take_all(2 * size, loads);
  }
  return loads;
}

StepCost StepPricer::compute(const Step& step, std::span<const std::uint32_t> rows,
                             std::uint32_t chunks) {
  constexpr std::int64_t kPicoseconds = 1'000'000'000'000;
  Rational latency = 0;
  std::map<std::uint32_t, LinkLoad> busiest;  // by interconnect, the first of equal ones
  for (const auto& [link, load] : loads_of(step, rows, false, latency)) {
    LinkLoad& most = busiest[network_.interconnect_of(link)];
    if (load > most.seconds_per_byte) most = {link, load};
  }
  StepCost cost{ratio(latency, kPicoseconds), 0, 0, {}};
  for (auto& [interconnect, most] : busiest) {
    most.seconds_per_byte *= network_.seconds_per_byte(interconnect) / chunks;
    if (most.seconds_per_byte > cost.seconds_per_byte) {
      cost.seconds_per_byte = most.seconds_per_byte;
      cost.bottleneck = most.link;
    }
    cost.busiest.push_back(most);
  }
  return cost;
}

std::vector<LinkLoad> StepPricer::loads(const Step& step, std::span<const std::uint32_t> rows,
                                        std::uint32_t chunks) {
  Rational latency = 0;
  std::vector<LinkLoad> all;
  for (const auto& [link, load] : loads_of(step, rows, true, latency)) {
    const std::uint32_t interconnect = network_.interconnect_of(link);
    all.push_back({link, load * network_.seconds_per_byte(interconnect) / chunks});
  }
  return all;
}

const StepCost& StepPricer::price(const Step& step, const std::vector<std::uint32_t>& rows,
                                  std::uint32_t chunks) {
  const auto found = known_.find(std::tie(step.collective, chunks, rows, step.groups));
  if (found != known_.end()) return found->second;
  StepCost cost = compute(step, rows, chunks);
  return known_.emplace(Key{step.collective, chunks, rows, step.groups}, std::move(cost))
      .first->second;
}

namespace {

ProgramCost sum(std::vector<const StepCost*> steps) {
  ProgramCost cost{std::move(steps), 0, 0};
  for (const StepCost* step : cost.steps) {
    cost.latency += step->latency;
    cost.seconds_per_byte += step->seconds_per_byte;
  }
  return cost;
}

/// The first whole size at which `other`, a line of smaller slope, precedes `best` in the ranking.
Rational overtakes(const ProgramCost& best, const ProgramCost& other, bool other_goes_first) {
  const Rational meet =
      (other.latency - best.latency) / (best.seconds_per_byte - other.seconds_per_byte);
  const Rational whole = meet.floor();
  const bool exactly = Rational(whole) == meet;
  return exactly && other_goes_first ? whole : whole + 1;
}

}  // namespace

ProgramDecision ProgramPricer::derive(const Program& program, Dialect dialect, const Limits& limits,
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
  ProgramDecision decision =
      derive(program, dialect, limits, [&](const Step& step, const auto& rows) {
        steps.push_back(&steps_.price(step, rows, program.devices));
      });
  return {std::move(decision), sum(std::move(steps))};
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

std::vector<FastestRange> fastest_ranges(const std::vector<const ProgramCost*>& costs,
                                         const Rational& low, const Rational& high) {
  std::vector<FastestRange> found;
  for (Rational at = low; at <= high; at = found.back().to + 1) {
    const std::size_t best = ranking(costs, at).front();
    Rational next = high + 1;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (costs[i]->seconds_per_byte >= costs[best]->seconds_per_byte) continue;
      next = std::min(next, overtakes(*costs[best], *costs[i], i < best));
    }
    found.push_back({at, next - 1, best});
  }
  return found;
}

}  // namespace p2
