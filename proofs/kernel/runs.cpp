#include "proofs/kernel/runs.h"

#include <algorithm>
#include <array>

namespace p2::kernel {

std::uint32_t size_of(const Runs& set) {
  std::uint32_t size = 0;
  for (std::size_t i = 0; i < set.size(); i += 2) size += set[i + 1] - set[i];
  return size;
}

bool contains(const Runs& set, std::uint32_t index) {
  return (std::upper_bound(set.begin(), set.end(), index) - set.begin()) % 2 == 1;
}

bool subset(const Runs& small, const Runs& large) { return intersect(small, large) == small; }

Runs intersect(const Runs& a, const Runs& b) {
  Runs common;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::uint32_t begin = std::max(a[i], b[j]);
    const std::uint32_t end = std::min(a[i + 1], b[j + 1]);
    if (begin < end) common.insert(common.end(), {begin, end});
    (a[i + 1] < b[j + 1] ? i : j) += 2;
  }
  return common;
}

Runs runs_of(const std::vector<std::uint32_t>& indexes) {
  Runs runs;
  for (const std::uint32_t index : indexes) {
    if (runs.empty() || runs.back() != index) runs.insert(runs.end(), {index, index});
    ++runs.back();
  }
  return runs;
}

Union unite(const std::vector<const Runs*>& sets) {
  using Part = std::array<std::uint32_t, 3>;  // begin, end, which set
  std::size_t bounds = 0;
  for (const Runs* set : sets) bounds += set->size();
  std::vector<Part> parts;
  parts.reserve(bounds / 2);
  for (std::uint32_t which = 0; which < sets.size(); ++which) {
    const Runs& set = *sets[which];
    for (std::size_t i = 0; i < set.size(); i += 2) parts.push_back({set[i], set[i + 1], which});
  }
  if (!std::is_sorted(parts.begin(), parts.end())) std::sort(parts.begin(), parts.end());
  Union result;
  std::uint32_t last = 0;
  for (const auto& [begin, end, which] : parts) {
    Runs& runs = result.runs;
    if (!runs.empty() && begin < runs.back()) {
      result.clash = std::max(last, which);
      return result;
    }
    if (!runs.empty() && begin == runs.back())
      runs.pop_back();
    else
      runs.push_back(begin);
    runs.push_back(end);
    last = which;
  }
  return result;
}

std::vector<Runs> cut(const Runs& set, std::uint32_t parts) {
  const std::uint32_t share = size_of(set) / parts;
  std::vector<Runs> pieces(parts);
  std::uint32_t done = 0;
  for (std::size_t i = 0; i < set.size(); i += 2) {
    for (std::uint32_t begin = set[i]; begin < set[i + 1];) {
      const std::uint32_t count = std::min(set[i + 1] - begin, share - done % share);
      pieces[done / share].insert(pieces[done / share].end(), {begin, begin + count});
      begin += count;
      done += count;
    }
  }
  return pieces;
}

}  // namespace p2::kernel
