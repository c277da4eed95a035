#include "proofs/claims/recoverable.h"

namespace p2::claims {

std::optional<std::uint32_t> fewest_pieces(Contributors wanted,
                                           std::span<const Contributors> sets) {
  if (wanted == 0) return 0;
  const Contributors first = wanted & (~wanted + 1);
  std::optional<std::uint32_t> fewest;
  for (const Contributors set : sets) {
    if ((set & first) == 0 || (set & ~wanted) != 0) continue;
    const auto others = fewest_pieces(wanted & ~set, sets);
    if (others && (!fewest || *others + 1 < *fewest)) fewest = *others + 1;
  }
  return fewest;
}

Recoverable::Recoverable(const StateTable& states, const std::vector<Group>& classes)
    : held_(states), classes_(contributors_of(classes)) {}

bool Recoverable::operator()(const SystemState& state) {
  for (std::uint32_t chunk = 0; chunk < held_.chunks(); ++chunk) {
    for (const Contributors wanted : classes_) {
      pure_.clear();
      for (const StateId device : state) {
        const Contributors held = held_.by_chunk(device)[chunk];
        if (held != 0 && (held & ~wanted) == 0) pure_.push_back(held);
      }
      if (!fewest_pieces(wanted, pure_)) return false;
    }
  }
  return true;
}

}  // namespace p2::claims
