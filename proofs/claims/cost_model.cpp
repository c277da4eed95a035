#include "proofs/claims/cost_model.h"

#include <array>

namespace p2::claims {
namespace {

constexpr std::uint32_t kSlowdown = 10;

constexpr std::array<std::string_view, 3> kNames = {"homogeneous", "two-level", "tiered"};

}  // namespace

std::string_view to_string(CostModel model) { return kNames[static_cast<std::size_t>(model)]; }

LatencyBandwidth network_of(const Hierarchy& hierarchy, CostModel model) {
  std::vector<Uplink> uplinks;
  std::uint32_t span = 1;
  std::uint32_t slowdown = 1;
  const std::vector<Level>& levels = hierarchy.levels();
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    if (level->size == 1) continue;
    if (span > 1) uplinks.push_back({span, slowdown *= kSlowdown});
    span *= level->size;
  }
  if (model == CostModel::Homogeneous) uplinks.clear();
  if (model == CostModel::TwoLevel && !uplinks.empty())
    uplinks = {{uplinks.back().span, kSlowdown}};
  return LatencyBandwidth(std::move(uplinks));
}

}  // namespace p2::claims
