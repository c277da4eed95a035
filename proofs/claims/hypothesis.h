#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proofs/claims/campaign.h"

namespace p2::claims {

/// A condition on systems under which a claim that is false in general was refuted on none.
struct Hypothesis {
  std::string words;
  std::uint64_t systems = 0;  ///< that satisfy it
};

/// The weakest condition, of a fixed list and then of pairs from it, under which all of `results`
/// hold: the one that the most systems satisfy. Its words are empty when there is none. The results
/// are those of one claim, pair of hierarchies and dialect, one for every system.
Hypothesis weakest_hypothesis(const std::vector<const Result*>& results);

}  // namespace p2::claims
