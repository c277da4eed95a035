#include "engine/msccl/sum.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace p2::msccl {

Sum::Sum(const Contribution& one) : runs_({{one.chunk, one.rank, one.rank, 1}}) {}

Sum Sum::of_all(std::uint32_t ranks, std::uint32_t chunk) {
  Sum sum;
  sum.runs_ = {{chunk, 0, ranks - 1, 1}};
  return sum;
}

void Sum::append(std::vector<Run>& runs, const Run& run) {
  if (!runs.empty()) {
    Run& before = runs.back();
    if (before.chunk == run.chunk && before.last + 1 == run.first && before.count == run.count) {
      before.last = run.last;
      return;
    }
  }
  runs.push_back(run);
}

void Sum::add(const Sum& other) {
  std::vector<Run> merged;
  merged.reserve(std::max(runs_.size(), other.runs_.size()));
  auto one = runs_.begin();
  auto two = other.runs_.begin();
  Run a = one == runs_.end() ? Run{} : *one;
  Run b = two == other.runs_.end() ? Run{} : *two;
  const auto next_one = [&] { a = ++one == runs_.end() ? Run{} : *one; };
  const auto next_two = [&] { b = ++two == other.runs_.end() ? Run{} : *two; };
  while (one != runs_.end() && two != other.runs_.end()) {
    if (std::tie(a.chunk, a.last) < std::tie(b.chunk, b.first)) {
      append(merged, a);
      next_one();
    } else if (std::tie(b.chunk, b.last) < std::tie(a.chunk, a.first)) {
      append(merged, b);
      next_two();
    } else if (a.first != b.first) {
      Run& earlier = a.first < b.first ? a : b;
      const std::uint32_t meet = std::max(a.first, b.first);
      append(merged, {earlier.chunk, earlier.first, meet - 1, earlier.count});
      earlier.first = meet;
    } else {
      const std::uint32_t end = std::min(a.last, b.last);
      const std::uint32_t room = std::numeric_limits<std::uint32_t>::max() - a.count;
      append(merged, {a.chunk, a.first, end, a.count + std::min(b.count, room)});
      const bool a_ends = a.last == end;
      const bool b_ends = b.last == end;
      a.first = b.first = end + 1;
      if (a_ends) next_one();
      if (b_ends) next_two();
    }
  }
  for (; one != runs_.end(); next_one()) append(merged, a);
  for (; two != other.runs_.end(); next_two()) append(merged, b);
  runs_ = std::move(merged);
}

std::map<Contribution, std::uint32_t> Sum::counts() const {
  std::map<Contribution, std::uint32_t> counts;
  for (const Run& run : runs_) {
    for (std::uint32_t rank = run.first; rank <= run.last; ++rank) {
      counts[{rank, run.chunk}] = run.count;
    }
  }
  return counts;
}

}  // namespace p2::msccl
