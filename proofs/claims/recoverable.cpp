#include "proofs/claims/recoverable.h"

#include "engine/invariant.h"

namespace p2::claims {
std::vector<std::uint64_t> contributors_by_chunk(const StateTable& states, StateId state) {
  std::vector<std::uint64_t> rows(states.chunks());
  for (std::uint32_t chunk = 0; chunk < states.chunks(); ++chunk) {
    for (const Run& run : states.sets().runs(states.row(state, chunk))) {
      for (std::uint32_t c = run.begin; c < run.end; ++c) rows[chunk] |= std::uint64_t{1} << c;
    }
  }
  return rows;
}

std::optional<std::uint32_t> fewest_pieces(std::uint64_t wanted,
                                           std::span<const std::uint64_t> sets) {
  if (wanted == 0) return 0;
  const std::uint64_t first = wanted & (~wanted + 1);
  std::optional<std::uint32_t> fewest;
  for (const std::uint64_t set : sets) {
    if ((set & first) == 0 || (set & ~wanted) != 0) continue;
    const auto others = fewest_pieces(wanted & ~set, sets);
    if (others && (!fewest || *others + 1 < *fewest)) fewest = *others + 1;
  }
  return fewest;
}

Recoverable::Recoverable(const StateTable& states, const std::vector<Group>& classes)
    : states_(states) {
  invariant(states.chunks() <= 64, "contributors are kept in 64 bits");
  for (const Group& members : classes) {
    Contributors all = 0;
    for (const std::uint32_t device : members) all |= Contributors{1} << device;
    classes_.push_back(all);
  }
}

const std::vector<Recoverable::Contributors>& Recoverable::rows_of(StateId state) {
  if (rows_.size() <= state) rows_.resize(std::size_t{state} + 1);
  if (rows_[state].empty()) rows_[state] = contributors_by_chunk(states_, state);
  return rows_[state];
}

bool Recoverable::operator()(const SystemState& state) {
  for (std::uint32_t chunk = 0; chunk < states_.chunks(); ++chunk) {
    for (const Contributors wanted : classes_) {
      pure_.clear();
      for (const StateId device : state) {
        const Contributors held = rows_of(device)[chunk];
        if (held != 0 && (held & ~wanted) == 0) pure_.push_back(held);
      }
      if (!fewest_pieces(wanted, pure_)) return false;
    }
  }
  return true;
}

}  // namespace p2::claims
