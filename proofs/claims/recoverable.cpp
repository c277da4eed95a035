#include "proofs/claims/recoverable.h"

#include <algorithm>
#include <span>

#include "engine/invariant.h"

namespace p2::claims {
namespace {

/// Whether some of `sets` are disjoint and unite to `wanted`.
bool exactly_covered(std::uint64_t wanted, std::span<const std::uint64_t> sets) {
  if (wanted == 0) return true;
  const std::uint64_t first = wanted & (~wanted + 1);
  return std::any_of(sets.begin(), sets.end(), [&](std::uint64_t set) {
    return (set & first) != 0 && (set & ~wanted) == 0 && exactly_covered(wanted & ~set, sets);
  });
}

}  // namespace

Recoverable::Recoverable(const StateTable& states, const std::vector<Group>& classes)
    : states_(states), class_of_(states.chunks()) {
  invariant(states.chunks() <= 64, "contributors are kept in 64 bits");
  for (const Group& members : classes) {
    Contributors all = 0;
    for (const std::uint32_t device : members) all |= Contributors{1} << device;
    for (const std::uint32_t device : members) class_of_[device] = all;
    classes_.push_back(all);
  }
}

const std::vector<Recoverable::Contributors>& Recoverable::rows_of(StateId state) {
  if (rows_.size() <= state) rows_.resize(std::size_t{state} + 1);
  std::vector<Contributors>& rows = rows_[state];
  if (!rows.empty()) return rows;
  rows.resize(states_.chunks());
  for (std::uint32_t chunk = 0; chunk < states_.chunks(); ++chunk) {
    for (const Run& run : states_.sets().runs(states_.row(state, chunk))) {
      for (std::uint32_t c = run.begin; c < run.end; ++c) rows[chunk] |= Contributors{1} << c;
    }
  }
  return rows;
}

bool Recoverable::operator()(const SystemState& state) {
  for (std::uint32_t chunk = 0; chunk < states_.chunks(); ++chunk) {
    for (const Contributors wanted : classes_) {
      pure_.clear();
      for (const StateId device : state) {
        const Contributors held = rows_of(device)[chunk];
        if (held != 0 && (held & ~wanted) == 0) pure_.push_back(held);
      }
      if (!exactly_covered(wanted, pure_)) return false;
    }
  }
  return true;
}

std::uint32_t Recoverable::unfinished(std::uint32_t device, StateId held) {
  const std::vector<Contributors>& rows = rows_of(held);
  return static_cast<std::uint32_t>(std::count_if(
      rows.begin(), rows.end(), [&](Contributors row) { return row != class_of_[device]; }));
}

}  // namespace p2::claims
