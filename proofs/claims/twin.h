#pragma once

#include <string>
#include <vector>

#include "proofs/claims/claim.h"
#include "proofs/claims/machine.h"

namespace p2::claims {

/// A system and the groups of every move on it.
struct Twin {
  Machine machine;
  std::vector<std::vector<Group>> groups;  ///< by move
};

Twin on_system(const Subject& subject);

/// The counterexample that `move` makes of the moves on the `way` to a state.
Answer refuted_on(const Subject& subject, std::vector<std::uint32_t> way, std::uint32_t move,
                  std::string why);

}  // namespace p2::claims
