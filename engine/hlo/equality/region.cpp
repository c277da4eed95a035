#include <algorithm>

#include "engine/hlo/equality/index_map.h"

namespace p2::hlo {
namespace {

/// base + a new variable of `extent` values, which belongs to `region`.
Coordinate fresh(Space& space, Region& region, std::int64_t base, std::int64_t stride,
                 std::int64_t extent) {
  if (extent == 1) return {base, {}};
  const Variable variable = space.add(extent);
  region.variables.push_back(variable);
  return {base, {{variable, stride}}};
}

}  // namespace

bool Region::has(Variable variable) const {
  return std::find(variables.begin(), variables.end(), variable) != variables.end();
}

Region whole(Space& space, const std::vector<std::int64_t>& sizes) {
  Region region;
  for (const std::int64_t size : sizes) region.map.push_back(fresh(space, region, 0, 1, size));
  return region;
}

IndexMap substitute(const IndexMap& map, Variable variable, const Coordinate& value) {
  IndexMap result;
  for (const Coordinate& coordinate : map) {
    Coordinate rest{coordinate.base, {}};
    std::int64_t stride = 0;
    for (const Term& term : coordinate.terms) {
      if (term.variable == variable) {
        stride = term.stride;
      } else {
        rest.terms.push_back(term);
      }
    }
    result.push_back(rest + value.times(stride));
  }
  return result;
}

std::vector<Region> refined(Space& space, const Region& region, const Refinement& refinement) {
  const std::int64_t extent = space.extent(refinement.variable);
  std::vector<Region> parts;
  Region rest = region;
  std::erase(rest.variables, refinement.variable);
  const auto add = [&](Region part, const Coordinate& value) {
    part.map = substitute(region.map, refinement.variable, value);
    parts.push_back(std::move(part));
  };
  if (refinement.factor > 0) {
    Region part = rest;
    const Coordinate high = fresh(space, part, 0, refinement.factor, extent / refinement.factor);
    const Coordinate low = fresh(space, part, 0, 1, refinement.factor);
    add(std::move(part), high + low);
    return parts;
  }
  std::int64_t start = 0;
  for (std::size_t i = 0; i <= refinement.cuts.size(); ++i) {
    const std::int64_t end = i < refinement.cuts.size() ? refinement.cuts[i] : extent;
    Region part = rest;
    const Coordinate value = fresh(space, part, start, 1, end - start);
    add(std::move(part), value);
    start = end;
  }
  return parts;
}

}  // namespace p2::hlo
