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

void StepPricer::add_groups(std::size_t size, const Step& step, std::span<const std::uint32_t> rows,
                            Loads& loads, Integer& latency) {
  for (std::size_t i = 0; i < step.groups.size(); ++i) {
    if (step.groups[i].size() == size) add_group(step, step.groups[i], rows[i], latency);
  }
  for (const LinkId link : loaded_) {
    loads[link] += ratio(amounts_[link], 2 * size);
    amounts_[link] = 0;
  }
  loaded_.clear();
}

StepCost StepPricer::compute(const Step& step, std::span<const std::uint32_t> rows,
                             std::uint32_t chunks) {
  std::set<std::size_t> sizes;
  for (const Group& group : step.groups) sizes.insert(group.size());
  sizes.erase(1);
  Loads loads;
  Integer latency = 0;
  for (const std::size_t size : sizes) add_groups(size, step, rows, loads, latency);
  constexpr std::int64_t kPicoseconds = 1'000'000'000'000;
  StepCost cost{ratio(latency, kPicoseconds), 0, 0, {}};
  // Links of one interconnect follow each other.
  std::map<std::uint32_t, BusiestLink> busiest;
  for (const auto& [link, load] : loads) {
    BusiestLink& most = busiest[network_.interconnect_of(link)];
    if (load > most.seconds_per_byte) most = {link, load};
  }
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

const StepCost& StepPricer::price(const Step& step, std::vector<std::uint32_t> rows,
                                  std::uint32_t chunks) {
  Key key{step.collective, chunks, std::move(rows), step.groups};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  StepCost cost = compute(step, std::get<2>(key), chunks);
  return known_.emplace(std::move(key), std::move(cost)).first->second;
}

}  // namespace p2
