#include "engine/cost/step_cost.h"

#include <algorithm>
#include <set>

namespace p2 {

void StepPricer::add_group(const Step& step, const Group& group, std::uint32_t rows,
                           Integer& latency) {
  Integer waited = 0;
  for (const Stage& stage : transfers(step.collective, algorithm_, group, rows, network_)) {
    Integer slowest = 0;
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
                                       bool all, Integer& latency) {
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
  Integer latency = 0;
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
  Integer latency = 0;
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

}  // namespace p2
