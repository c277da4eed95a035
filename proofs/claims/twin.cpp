#include "proofs/claims/twin.h"

#include "engine/program/notation.h"

namespace p2::claims {

Twin on_system(const Subject& subject) {
  Twin twin{Machine(subject.from.grid.devices(), subject.from.classes()), {}};
  for (const Move& move : subject.moves) {
    twin.groups.push_back(subject.from.grid.groups(move.pattern.reduced, move.pattern.pinned));
  }
  return twin;
}

Answer refuted_on(const Subject& subject, std::vector<std::uint32_t> way, std::uint32_t move,
                  std::string why) {
  way.push_back(move);
  const auto steps = static_cast<std::uint32_t>(way.size());
  return {Outcome::Refuted, steps, to_string(subject.steps(way), &subject.from), steps,
          std::move(why)};
}

}  // namespace p2::claims
