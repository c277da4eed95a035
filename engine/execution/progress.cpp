#include "engine/execution/progress.h"

#include <algorithm>

#include <fmt/format.h>

namespace p2::execution {

std::string who_is_late(std::span<const RankProgress> ranks) {
  const auto by_begun = [](const RankProgress& a, const RankProgress& b) {
    return a.begun.load() < b.begun.load();
  };
  const auto [last, first] = std::minmax_element(ranks.begin(), ranks.end(), by_begun);
  if (last->begun.load() < first->begun.load()) {
    return fmt::format("rank {} did not enter step {} of program {}, where others wait for it",
                       last - ranks.begin(), first->step.load(), first->program.load());
  }
  const auto inside = [](const RankProgress& rank) { return rank.ended < rank.begun; };
  const auto stuck = std::find_if(ranks.begin(), ranks.end(), inside);
  if (stuck == ranks.end()) return "no rank was inside a step";
  return fmt::format("rank {} entered step {} of program {} and did not leave it",
                     stuck - ranks.begin(), stuck->step.load(), stuck->program.load());
}

}  // namespace p2::execution
