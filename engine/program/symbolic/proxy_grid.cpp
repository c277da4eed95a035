#include "engine/program/symbolic/proxy_grid.h"

#include <algorithm>

namespace p2 {

ProxyGrid::ProxyGrid(const Problem& problem, std::uint32_t values) {
  for (const Factor& factor : problem.factors) {
    sizes_.push_back(factor.size);
    factors_.push_back({0, 0, std::min(factor.size, values), 1});
  }
  for (auto factor = factors_.rbegin(); factor != factors_.rend(); ++factor) {
    factor->stride = points_;
    points_ *= factor->size;
  }
  const FactorSet all = (FactorSet{1} << factors_.size()) - 1;
  for (std::size_t move = 0; move < problem.moves.size(); ++move) {
    const Pattern& pattern = problem.moves[move].pattern;
    if (move == 0 || pattern != problem.moves[move - 1].pattern) {
      Groups& groups = groups_.emplace_back();
      groups.bases = digit_sums(factors_, all & ~(pattern.reduced | pattern.pinned));
      groups.offsets = digit_sums(factors_, pattern.reduced);
      for (std::size_t f = 0; f < sizes_.size(); ++f) {
        if ((pattern.reduced >> f & 1U) != 0) groups.size *= sizes_[f];
      }
    }
    groups_of_move_.push_back(static_cast<std::uint32_t>(groups_.size() - 1));
  }
}

std::vector<std::uint32_t> ProxyGrid::coset(std::uint32_t point, FactorSet free) const {
  std::uint32_t base = point;
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    if ((free >> f & 1U) != 0) base -= value(point, f) * factors_[f].stride;
  }
  std::vector<std::uint32_t> points = digit_sums(factors_, free);
  for (std::uint32_t& each : points) each += base;
  return points;
}

std::uint32_t PointSets::of(std::span<const std::uint32_t> points) {
  std::ranges::fill(buffer_, 0);
  for (const std::uint32_t point : points) buffer_[point / 32] |= 1U << (point % 32);
  return table_.intern(buffer_);
}

std::optional<std::uint32_t> PointSets::disjoint_union(std::span<const std::uint32_t> sets) {
  std::ranges::fill(buffer_, 0);
  for (const std::uint32_t set : sets) {
    const auto words = table_[set];
    for (std::size_t i = 0; i < words.size(); ++i) {
      if ((buffer_[i] & words[i]) != 0) return std::nullopt;
      buffer_[i] |= words[i];
    }
  }
  return table_.intern(buffer_);
}

bool PointSets::is_subset(std::uint32_t some, std::uint32_t all) const {
  if (some == all || some == kEmpty) return true;
  const auto small = table_[some];
  const auto large = table_[all];
  for (std::size_t i = 0; i < small.size(); ++i) {
    if ((small[i] & ~large[i]) != 0) return false;
  }
  return true;
}

}  // namespace p2
