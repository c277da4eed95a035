#include "engine/cost/latency_bandwidth.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include <fmt/format.h>

namespace p2 {
namespace {

/// Whether `middle` is nowhere above both of its neighbours: on or below the line between them.
bool below_line(const Charge& left, const Charge& middle, const Charge& right) {
  return (middle.bytes - left.bytes) * (middle.rounds - right.rounds) <=
         (right.bytes - middle.bytes) * (left.rounds - middle.rounds);
}

/// The α : β at which two charges are equal, with β = 1; nothing where one is never above the
/// other.
std::optional<Cost::Ratio> crossing(const Charge& a, const Charge& b) {
  const bool cross =
      (a.rounds < b.rounds && a.bytes > b.bytes) || (a.rounds > b.rounds && a.bytes < b.bytes);
  if (!cross) return std::nullopt;
  const Rational part = (a.bytes - b.bytes) / Rational(b.rounds - a.rounds);
  return Cost::Ratio{part, 1};
}

}  // namespace

Cost::Cost(std::vector<Charge> greatest_of) {
  std::sort(greatest_of.begin(), greatest_of.end(), [](const Charge& a, const Charge& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.rounds < b.rounds;
  });
  charges_.clear();
  for (const Charge& charge : greatest_of) {
    while (!charges_.empty() && charges_.back().rounds <= charge.rounds) charges_.pop_back();
    while (charges_.size() > 1 && below_line(charges_.end()[-2], charges_.back(), charge)) {
      charges_.pop_back();
    }
    charges_.push_back(charge);
  }
  if (charges_.empty()) charges_.push_back({});
}

Rational Cost::at(const Ratio& ratio) const {
  Rational greatest = 0;
  for (const Charge& charge : charges_) {
    greatest = std::max(greatest, ratio.alpha * charge.rounds + ratio.beta * charge.bytes);
  }
  return greatest;
}

bool Cost::at_most(const Cost& other) const {
  // `other` is convex, and linear between the ratios at which its charges meet.
  const auto below = [&](const Ratio& ratio) { return at(ratio) <= other.at(ratio); };
  if (!below({1, 0}) || !below({0, 1})) return false;
  const std::vector<Ratio> bends = other.bends();
  return std::all_of(bends.begin(), bends.end(), below);
}

Cost operator+(const Cost& a, const Cost& b) {
  std::vector<Charge> sums;
  for (const Charge& first : a.charges_) {
    for (const Charge& second : b.charges_) {
      sums.push_back({first.rounds + second.rounds, first.bytes + second.bytes});
    }
  }
  return Cost(std::move(sums));
}

std::vector<Cost::Ratio> Cost::bends() const {
  std::vector<Ratio> all;
  for (std::size_t i = 1; i < charges_.size(); ++i) {
    all.push_back(*crossing(charges_[i - 1], charges_[i]));
  }
  return all;
}

void CostFront::add(const Cost& cost) {
  if (!undercut_by(cost)) return;
  costs_.push_back(cost);
  std::vector<Charge> charges;
  for (const Cost& each : costs_) {
    charges.insert(charges.end(), each.charges().begin(), each.charges().end());
  }
  ratios_.resize(2);
  for (std::size_t i = 0; i < charges.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const std::optional<Cost::Ratio> ratio = crossing(charges[i], charges[j]);
      if (!ratio || Cost({charges[i]}).at(*ratio) != *at(*ratio)) continue;
      const bool known = std::find(ratios_.begin(), ratios_.end(), *ratio) != ratios_.end();
      if (!known) ratios_.push_back(*ratio);
    }
  }
  // What is the least between two bends is so at both.
  std::vector<Cost> least;
  std::copy_if(costs_.begin(), costs_.end(), std::back_inserter(least), [&](const Cost& each) {
    return std::any_of(ratios_.begin(), ratios_.end(),
                       [&](const Cost::Ratio& ratio) { return each.at(ratio) == *at(ratio); });
  });
  costs_ = std::move(least);
}

std::optional<Rational> CostFront::at(const Cost::Ratio& ratio) const {
  std::optional<Rational> least;
  for (const Cost& cost : costs_) {
    const Rational here = cost.at(ratio);
    if (!least || here < *least) least = here;
  }
  return least;
}

std::optional<Cost::Ratio> CostFront::undercut_by(const Cost& cost) const {
  if (costs_.empty()) return ratios_.front();
  std::optional<Cost::Ratio> best;
  Rational smallest = 1;
  const auto look_at = [&](const Cost::Ratio& ratio) {
    const Rational least = *at(ratio);
    if (least == 0 || cost.at(ratio) / least >= smallest) return;
    smallest = cost.at(ratio) / least;
    best = ratio;
  };
  for (const Cost::Ratio& ratio : ratios_) look_at(ratio);
  for (const Cost::Ratio& ratio : cost.bends()) look_at(ratio);
  return best;
}

std::string to_string(const Cost& cost) {
  std::string text;
  for (const Charge& charge : cost.charges()) {
    text += fmt::format("{}{}α + {}β", text.empty() ? "" : ", ", charge.rounds,
                        to_string(charge.bytes));
  }
  return cost.charges().size() == 1 ? text : "max(" + text + ")";
}

std::string to_string(const Cost::Ratio& ratio) {
  if (ratio.alpha == 0) return "α = 0";
  if (ratio.beta == 0) return "β = 0";
  const Rational quotient = ratio.alpha / ratio.beta;
  return fmt::format("α:β = {}:{}", quotient.numerator().to_string(),
                     quotient.denominator().to_string());
}

namespace {

bool some_inside(const Group& group, const Uplink& uplink, std::uint32_t run) {
  return std::any_of(group.begin(), group.end(),
                     [&](std::uint32_t device) { return device / uplink.span == run; });
}

/// Whether the group has bytes on the link of this run.
bool leaves(const Group& group, const Uplink& uplink, std::uint32_t run) {
  const bool all_inside = std::all_of(group.begin(), group.end(), [&](std::uint32_t device) {
    return device / uplink.span == run;
  });
  return !all_inside && some_inside(group, uplink, run);
}

}  // namespace

Charge charge_of(Collective collective, std::size_t n, std::uint32_t held, std::uint32_t chunks) {
  const auto others = static_cast<std::int64_t>(n) - 1;
  const Rational part(held, chunks);
  switch (collective) {
    case Collective::AllReduce:
      return {2 * others, part * Rational(2 * others, others + 1)};
    case Collective::ReduceScatter:
      return {others, part * Rational(others, others + 1)};
    case Collective::AllGather:
      return {others, part * others};
    case Collective::Reduce:
    case Collective::Broadcast:
      break;
  }
  const auto depth = static_cast<std::int64_t>(std::bit_width(n - 1));
  return {depth, part * depth};
}

Cost LatencyBandwidth::of_step(Collective collective, const std::vector<Group>& groups,
                               std::span<const std::uint32_t> held, std::uint32_t chunks) const {
  std::vector<Charge> charges;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    charges.push_back(charge_of(collective, groups[i].size(), held[i], chunks));
  }
  std::vector<Charge> slowest = charges;
  for (const Uplink& uplink : uplinks_) {
    // A link is used by a group only if one of its devices is in its run.
    for (std::uint32_t run = 0; run * uplink.span < chunks; ++run) {
      Rational load = 0;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (leaves(groups[i], uplink, run)) load = load + charges[i].bytes;
      }
      load = load * uplink.slowdown;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (leaves(groups[i], uplink, run)) slowest[i].bytes = std::max(slowest[i].bytes, load);
      }
    }
  }
  return Cost(std::move(slowest));
}

}  // namespace p2
