// Affine index maps, and the regions that they stand for: questions about an index are answered for
// a whole region, or by the refinement that splits it.

#include "engine/hlo/equality/index_map.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "engine/base/invariant.h"

namespace p2::hlo {
namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/// base + stride · v for a new variable v of `extent` values, which is added to `region`.
Coordinate add_variable(Space& space, Region& region, std::int64_t base, std::int64_t stride,
                        std::int64_t extent) {
  if (extent == 1) return {base, {}};
  const Variable variable = space.add(extent);
  region.variables.push_back(variable);
  return {base, {{variable, stride}}};
}

}  // namespace

Coordinate Coordinate::times(std::int64_t factor) const {
  if (factor == 0) return {};
  Coordinate scaled = *this;
  scaled.base *= factor;
  for (Term& term : scaled.terms) term.stride *= factor;
  return scaled;
}

Coordinate Coordinate::operator+(const Coordinate& other) const {
  Coordinate sum{base + other.base, {}};
  auto a = terms.begin();
  auto b = other.terms.begin();
  while (a != terms.end() || b != other.terms.end()) {
    if (b == other.terms.end() || (a != terms.end() && a->variable < b->variable)) {
      sum.terms.push_back(*a++);
    } else if (a == terms.end() || b->variable < a->variable) {
      sum.terms.push_back(*b++);
    } else {
      const std::int64_t stride = a->stride + b->stride;
      if (stride != 0) sum.terms.push_back({a->variable, stride});
      ++a;
      ++b;
    }
  }
  return sum;
}

bool is_fixed(const IndexMap& map) {
  return std::all_of(map.begin(), map.end(),
                     [](const Coordinate& coordinate) { return coordinate.is_fixed(); });
}

Variable Space::add(std::int64_t extent) {
  extents_.push_back(extent);
  return static_cast<Variable>(extents_.size() - 1);
}

std::vector<Variable> Space::reuse(const std::vector<std::int64_t>& extents, const IndexMap& map) {
  std::set<Variable> used;
  for (const Coordinate& coordinate : map) {
    for (const Term& term : coordinate.terms) used.insert(term.variable);
  }
  std::vector<Variable> all;
  for (const std::int64_t extent : extents) {
    std::vector<Variable>& known = reused_[extent];
    auto found = std::find_if(known.begin(), known.end(),
                              [&](Variable each) { return used.count(each) == 0; });
    if (found == known.end()) found = known.insert(known.end(), add(extent));
    used.insert(*found);
    all.push_back(*found);
  }
  return all;
}

Region Space::with_reused(const Region& region) {
  IndexMap others = region.map;
  std::vector<std::int64_t> extents;
  for (const Variable variable : region.variables) {
    others = substitute(others, variable, {});
    extents.push_back(extent(variable));
  }
  const std::vector<Variable> names = reuse(extents, others);
  Region result{{}, names};
  for (const Coordinate& coordinate : region.map) {
    Coordinate renamed{coordinate.base, {}};
    for (const Term& term : coordinate.terms) {
      const auto own = std::find(region.variables.begin(), region.variables.end(), term.variable);
      const Variable name = own == region.variables.end()
                                ? term.variable
                                : names[static_cast<std::size_t>(own - region.variables.begin())];
      renamed = renamed + Coordinate{0, {{name, term.stride}}};
    }
    result.map.push_back(std::move(renamed));
  }
  return result;
}

Variable Offsets::intern(std::int64_t key, std::int64_t max) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (all_[i].key == key && all_[i].max == max) return -1 - static_cast<Variable>(i);
  }
  all_.push_back({key, max});
  return -static_cast<Variable>(all_.size());
}

Refinement Space::singles(Variable variable) const {
  Refinement refinement{variable, {}, 0};
  for (std::int64_t i = 1; i < extent(variable); ++i) refinement.cuts.push_back(i);
  return refinement;
}

Space::Range Space::range(const Coordinate& coordinate) const {
  Range range{coordinate.base, coordinate.base};
  for (const Term& term : coordinate.terms) {
    const std::int64_t last =
        term.variable < 0 ? offsets_->max(term.variable) : extent(term.variable) - 1;
    (term.stride < 0 ? range.low : range.high) += term.stride * last;
  }
  return range;
}

void Space::refine(const Coordinate& coordinate,
                   const std::vector<std::int64_t>& boundaries) const {
  const Term* widest = nullptr;
  for (const Term& term : coordinate.terms) {
    if (term.variable < 0) throw UnknownOffset{};
    if (widest == nullptr || std::abs(term.stride) > std::abs(widest->stride)) widest = &term;
  }
  if (widest == nullptr) throw UnknownOffset{};
  Coordinate rest = coordinate;
  std::erase(rest.terms, *widest);
  const Range others = range(rest);
  const std::int64_t extent = this->extent(widest->variable);
  Refinement refinement{widest->variable, {}, 0};
  // The values of the variable before which no choice of the others reaches a boundary, and from
  // which all do: values in between remain to be refined along another variable.
  for (const std::int64_t boundary : boundaries) {
    for (const std::int64_t other : {others.low, others.high}) {
      const std::int64_t stride = std::abs(widest->stride);
      const std::int64_t distance = boundary - other;
      const std::int64_t steps = -floor_divide(-distance, stride);
      const std::int64_t at = widest->stride > 0 ? steps : floor_divide(-distance, stride) + 1;
      if (at > 0 && at < extent) refinement.cuts.push_back(at);
    }
  }
  std::sort(refinement.cuts.begin(), refinement.cuts.end());
  refinement.cuts.erase(std::unique(refinement.cuts.begin(), refinement.cuts.end()),
                        refinement.cuts.end());
  if (refinement.cuts.empty()) refinement.cuts.push_back(extent / 2);
  throw refinement;
}

std::size_t Space::interval_of(const Coordinate& coordinate,
                               const std::vector<std::int64_t>& boundaries) const {
  const Range values = range(coordinate);
  const auto part = [&](std::int64_t value) {
    return std::upper_bound(boundaries.begin(), boundaries.end(), value) - boundaries.begin();
  };
  const auto first = part(values.low);
  const auto last = part(values.high);
  if (first == last) return static_cast<std::size_t>(first);
  refine(coordinate, {boundaries.begin() + first, boundaries.begin() + last});
}

std::int64_t Space::block_of(const Coordinate& coordinate, std::int64_t size) const {
  const Range values = range(coordinate);
  const std::int64_t first = floor_divide(values.low, size);
  const std::int64_t last = floor_divide(values.high, size);
  if (first == last) return first;
  constexpr std::int64_t kMaxCuts = 1 << 16;
  std::vector<std::int64_t> boundaries;
  const std::int64_t step = (last - first - 1) / kMaxCuts + 1;
  for (std::int64_t piece = first + 1; piece <= last; piece += step) {
    boundaries.push_back(piece * size);
  }
  refine(coordinate, boundaries);
}

void Space::refine_alignment(const Coordinate& rest, std::int64_t size) const {
  // A variable whose stride divides the size is split into a multiple of the size and a remainder,
  // if its extent is divisible; else its values are cut at the last multiple.
  const Term* widest = nullptr;
  for (const Term& term : rest.terms) {
    if (term.variable < 0) throw UnknownOffset{};
    if (widest == nullptr || term.stride > widest->stride) widest = &term;
  }
  invariant(widest != nullptr, "an index without variables straddles a boundary");
  if (widest->stride > 0 && size % widest->stride == 0) {
    const std::int64_t factor = size / widest->stride;
    const std::int64_t extent = this->extent(widest->variable);
    if (factor > 1 && factor < extent) {
      if (extent % factor == 0) throw Refinement{widest->variable, {}, factor};
      throw Refinement{widest->variable, {extent / factor * factor}, 0};
    }
  }
  block_of(rest, size);
  throw UnknownOffset{};
}

IndexMap Space::reshape(const IndexMap& map, const std::vector<std::int64_t>& from,
                        const std::vector<std::int64_t>& to) const {
  Coordinate linear;
  std::int64_t stride = 1;
  for (std::size_t i = from.size(); i-- > 0; stride *= from[i]) {
    linear = linear + map[i].times(stride);
  }
  IndexMap result(to.size());
  stride = 1;
  for (const std::int64_t size : to) stride *= size;
  for (std::size_t i = 0; i < to.size(); ++i) {
    stride /= to[i];
    if (to[i] == 1) continue;
    Coordinate whole;
    Coordinate rest;
    for (const Term& term : linear.terms) {
      (term.stride % stride == 0 ? whole : rest).terms.push_back(term);
    }
    for (Term& term : whole.terms) term.stride /= stride;
    whole.base = floor_divide(linear.base, stride);
    rest.base = linear.base - whole.base * stride;
    const Range left = range(rest);
    if (left.low < 0 || left.high >= stride) refine_alignment(rest, stride);
    result[i] = whole;
    linear = rest;
  }
  return result;
}

bool Region::has(Variable variable) const {
  return std::find(variables.begin(), variables.end(), variable) != variables.end();
}

Region whole_region(Space& space, const std::vector<std::int64_t>& sizes) {
  Region region;
  for (const std::int64_t size : sizes)
    region.map.push_back(add_variable(space, region, 0, 1, size));
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

std::vector<Region> split_region(Space& space, const Region& region, const Refinement& refinement) {
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
    const Coordinate high =
        add_variable(space, part, 0, refinement.factor, extent / refinement.factor);
    const Coordinate low = add_variable(space, part, 0, 1, refinement.factor);
    add(std::move(part), high + low);
    return parts;
  }
  std::int64_t start = 0;
  for (std::size_t i = 0; i <= refinement.cuts.size(); ++i) {
    const std::int64_t end = i < refinement.cuts.size() ? refinement.cuts[i] : extent;
    Region part = rest;
    const Coordinate value = add_variable(space, part, start, 1, end - start);
    add(std::move(part), value);
    start = end;
  }
  return parts;
}

}  // namespace p2::hlo
