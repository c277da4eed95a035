#include "engine/cost/pattern_groups.h"

#include <algorithm>

namespace p2 {

PatternGroups::PatternGroups(const DeviceGrid& grid, const Pattern& pattern)
    : digits_(grid.factors()),
      reduced_(pattern.reduced),
      free_(grid.all_factors() & ~(pattern.reduced | pattern.pinned)) {
  for (Factor& digit : digits_) digit.axis = digit.level = 0;
}

Group PatternGroups::first() const { return digit_sums(digits_, reduced_); }

std::vector<Group> PatternGroups::all() const {
  const Group offsets = first();
  std::vector<Group> groups;
  for (const std::uint32_t base : digit_sums(digits_, free_)) {
    Group& group = groups.emplace_back(offsets);
    for (std::uint32_t& device : group) device += base;
  }
  return groups;
}

bool PatternGroups::respects_runs(std::uint32_t run) const {
  return std::ranges::all_of(digits_, [&](const Factor& digit) {
    const std::uint32_t end = digit.stride * digit.size;
    if (run <= digit.stride) return digit.stride % run == 0;
    return run >= end || (run % digit.stride == 0 && end % run == 0);
  });
}

std::uint64_t PatternGroups::groups_in_run(std::uint32_t run) const {
  std::uint64_t groups = 1;
  for (std::size_t f = 0; f < digits_.size(); ++f) {
    const Factor& digit = digits_[f];
    if ((free_ >> f & 1U) == 0 || run <= digit.stride) continue;
    groups *= std::min(digit.size, run / digit.stride);
  }
  return groups;
}

}  // namespace p2
