#include "engine/strategy/placed/prices.h"

#include <algorithm>
#include <map>

namespace p2::operations {
namespace {

/// How much of an axis two parts of lengths a and b share.
std::int64_t shared(std::int64_t a, std::int64_t part_a, std::int64_t b, std::int64_t part_b) {
  return std::max<std::int64_t>(
      0, std::min((part_a + 1) * a, (part_b + 1) * b) - std::max(part_a * a, part_b * b));
}

/// The part of the output that a device has.
std::vector<std::uint32_t> part_of(const Tensor& tensor, const PlacedConfiguration& placed,
                                   std::uint32_t device) {
  std::vector<std::uint32_t> part;
  for (const Axis& axis : tensor) {
    part.push_back(axis.dimension ? placed.part(device, *axis.dimension) : 0);
  }
  return part;
}

}  // namespace

PlacedPrices::PlacedPrices(const Machine& machine, const Network& network)
    : machine_(machine),
      network_(network),
      pricer_(network, Algorithm::Ring),
      loads_(network.links(), 0) {
  const std::uint32_t devices = network.system().hierarchy.devices();
  for (std::uint32_t from = 0; from < devices; ++from) {
    for (std::uint32_t to = 0; to < devices; ++to) {
      Route& route = routes_.emplace_back();
      if (from == to) continue;
      network.route(from, to, route.links);
      std::uint32_t below = devices;
      const auto& levels = network.system().hierarchy.levels();
      route.length = levels.size();
      for (const p2::Level& level : levels) {
        below /= level.size;
        if (from / below != to / below) break;
        --route.length;
      }
    }
  }
  for (LinkId link = 0; link < network.links(); ++link) {
    rates_.push_back(
        network.system().interconnects[network.interconnect_of(link)].bytes_per_second);
  }
}

Wide PlacedPrices::all_reduces(const OperationCost& cost, const PlacedConfiguration& placed) {
  Wide sum = 0;
  for (const AllReduce& each : cost.all_reduces(placed.configuration)) {
    const Step step{Collective::AllReduce,
                    placed.grid.groups(placed.grid.factors_of(placed.axes_of(each.over)), 0),
                    std::nullopt};
    const std::vector<std::uint32_t> rows(step.groups.size(), 1);
    const Rational bytes = ratio(each.words, 1) * ratio(machine_.word_bytes, 1);
    sum += nearest(pricer_.price(step, rows, 1).seconds(bytes) * ratio(machine_.flops, 1));
  }
  return sum;
}

void PlacedPrices::send(std::uint32_t from, std::uint32_t to, Wide words) {
  const std::uint32_t devices = network_.system().hierarchy.devices();
  for (const LinkId link : routes_[from * devices + to].links) loads_[link] += words;
}

Wide PlacedPrices::busiest() {
  Wide most = 0;
  for (LinkId link = 0; link < loads_.size(); ++link) {
    const Wide work = 2 * loads_[link] * machine_.word_bytes * machine_.flops;
    most = std::max(most, rounded(work, rates_[link]));
    loads_[link] = 0;
  }
  return most;
}

SourceLayout::SourceLayout(const Operation& operation, const PlacedConfiguration& placed)
    : axes(operation.output) {
  for (const Axis& axis : axes) splits.push_back(operations::parts(axis, placed.configuration));
  std::map<std::vector<std::uint32_t>, Group> found;
  for (std::uint32_t device = 0; device < placed.grid.devices(); ++device) {
    found[part_of(axes, placed, device)].push_back(device);
  }
  for (auto& [part, who] : found) {
    parts.push_back(part);
    holders.push_back(std::move(who));
  }
}

TargetLayout::TargetLayout(const Operation& operation, std::size_t input,
                           const PlacedConfiguration& placed) {
  const Tensor& axes = operation.inputs[input];
  for (const Axis& axis : axes) splits.push_back(parts(axis, placed.configuration));
  for (std::uint32_t device = 0; device < placed.grid.devices(); ++device) {
    wanted.push_back(part_of(axes, placed, device));
  }
  if (!operation.scattered || input != 0) return;
  for (std::size_t d = 0; d < placed.configuration.size(); ++d) {
    if (std::ranges::count(axes, d, &Axis::dimension) == 0) shares *= placed.configuration[d];
  }
}

Wide PlacedPrices::resharding(const SourceLayout& source, const TargetLayout& target) {
  const auto devices = static_cast<std::uint32_t>(target.wanted.size());
  std::vector<std::int64_t> own, wanted;  // lengths of parts, by axis
  for (std::size_t a = 0; a < source.axes.size(); ++a) {
    own.push_back(source.axes[a].length / source.splits[a]);
    wanted.push_back(source.axes[a].length / target.splits[a]);
  }
  for (std::uint32_t d = 0; d < devices; ++d) {
    for (std::size_t p = 0; p < source.parts.size(); ++p) {
      Wide words = 1;
      for (std::size_t a = 0; a < source.axes.size() && words > 0; ++a) {
        words *= shared(own[a], source.parts[p][a], wanted[a], target.wanted[d][a]);
      }
      if (words == 0) continue;
      const std::uint32_t nearest = *std::ranges::min_element(
          source.holders[p], {}, [&](std::uint32_t e) { return routes_[e * devices + d].length; });
      if (nearest != d) send(nearest, d, (words + target.shares - 1) / target.shares);
    }
  }
  return busiest();
}

}  // namespace p2::operations
