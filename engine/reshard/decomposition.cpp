#include "engine/reshard/decomposition.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "p2/error.h"

namespace p2 {
namespace {

std::int64_t elements_in_common(const Slice& a, const Slice& b) {
  Slice both = a;
  for (std::size_t i = 0; i < a.low.size(); ++i) {
    both.low[i] = std::max(a.low[i], b.low[i]);
    both.high[i] = std::min(a.high[i], b.high[i]);
  }
  return both.elements();
}

}  // namespace

UnitTasks decompose(const TensorShape& shape, const Sharding& from, const Sharding& to,
                    Decomposition decomposition, std::string_view source) {
  const std::vector<Slice> destinations = slices_of(shape, to);
  UnitTasks tasks;
  for (const Slice& slice : slices_of(shape, from)) {
    std::set<std::uint32_t> receivers;
    for (const Slice& destination : destinations) {
      const std::int64_t common = elements_in_common(slice, destination);
      if (common == 0) continue;
      receivers.insert(destination.hosts.begin(), destination.hosts.end());
      if (decomposition == Decomposition::Intersection) {
        tasks.push_back({common, slice.hosts, destination.hosts});
      }
    }
    if (decomposition == Decomposition::Source) {
      tasks.push_back({slice.elements(), slice.hosts, {receivers.begin(), receivers.end()}});
    }
    if (tasks.size() > kMostTasks) {
      throw InputError(
          {std::string(source)},
          fmt::format("more than {} unit tasks, expected coarser shardings", kMostTasks));
    }
  }
  return tasks;
}

}  // namespace p2
