#include "proofs/claims/hypothesis.h"

#include <algorithm>
#include <array>

namespace p2::claims {
namespace {

bool reduces(const PlacedSystem& system, std::uint32_t axis) {
  return std::find(system.reduction.begin(), system.reduction.end(), axis) !=
         system.reduction.end();
}

bool one_axis(const PlacedSystem& system) { return !system.several_axes(); }

bool all_axes(const PlacedSystem& system) { return row_order(system) == RowOrder::All; }

bool reduced_rows_last(const PlacedSystem& system) {
  return all_axes(system) || row_order(system) == RowOrder::Last;
}

bool reduced_rows_first(const PlacedSystem& system) {
  return all_axes(system) || row_order(system) == RowOrder::First;
}

/// Whether no hardware level has factors greater than 1 of two axes that `counts` says count.
template <typename Counts>
bool levels_undivided(const PlacedSystem& system, Counts counts) {
  const auto& levels = system.grid.hierarchy().levels();
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const auto axes = std::count_if(
        system.grid.factors().begin(), system.grid.factors().end(),
        [&](const Factor& factor) { return factor.level == level && counts(factor.axis); });
    if (axes > 1) return false;
  }
  return true;
}

bool no_level_divided(const PlacedSystem& system) {
  return levels_undivided(system, [](std::uint32_t) { return true; });
}

bool no_level_divided_among_reduced(const PlacedSystem& system) {
  return levels_undivided(system, [&](std::uint32_t axis) { return reduces(system, axis); });
}

struct Condition {
  const char* words;
  bool (*holds)(const PlacedSystem& system);
};

constexpr std::array<Condition, 6> kConditions = {{
    {"one axis is reduced over", one_axis},
    {"all axes are reduced over", all_axes},
    {"the rows reduced over stand last", reduced_rows_last},
    {"the rows reduced over stand first", reduced_rows_first},
    {"no hardware level is divided among several axes", no_level_divided},
    {"no hardware level is divided among several axes reduced over",
     no_level_divided_among_reduced},
}};

/// The number of systems that satisfy both, or 0 if a claim is not known to hold on one of them.
std::uint64_t held_under(const std::vector<const Result*>& results, const Condition& a,
                         const Condition& b) {
  std::uint64_t systems = 0;
  for (const Result* result : results) {
    const PlacedSystem& system = *result->question.system;
    if (!a.holds(system) || !b.holds(system)) continue;
    if (result->answer.verdict != Outcome::Holds) return 0;
    ++systems;
  }
  return systems;
}

}  // namespace

Hypothesis weakest_hypothesis(const std::vector<const Result*>& results) {
  Hypothesis weakest;
  for (const Condition& condition : kConditions) {
    const std::uint64_t systems = held_under(results, condition, condition);
    if (systems > weakest.systems) weakest = {condition.words, systems};
  }
  if (weakest.systems > 0) return weakest;
  for (std::size_t a = 0; a < kConditions.size(); ++a) {
    for (std::size_t b = a + 1; b < kConditions.size(); ++b) {
      const std::uint64_t systems = held_under(results, kConditions[a], kConditions[b]);
      if (systems <= weakest.systems) continue;
      weakest = {std::string(kConditions[a].words) + " and " + kConditions[b].words, systems};
    }
  }
  return weakest;
}

}  // namespace p2::claims
