#include "engine/hlo/equality/index_map.h"

#include <algorithm>
#include <cstdlib>

#include "engine/base/invariant.h"

namespace p2::hlo {
namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

}  // namespace

Variable Space::add(std::int64_t extent) {
  extents_.push_back(extent);
  return static_cast<Variable>(extents_.size() - 1);
}

Variable Offsets::of(std::int64_t key, std::int64_t most) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (all_[i].key == key && all_[i].most == most) return -1 - static_cast<Variable>(i);
  }
  all_.push_back({key, most});
  return -static_cast<Variable>(all_.size());
}

Space::Range Space::range(const Coordinate& coordinate) const {
  Range range{coordinate.base, coordinate.base};
  for (const Term& term : coordinate.terms) {
    const std::int64_t last =
        term.variable < 0 ? offsets_->most(term.variable) : extent(term.variable) - 1;
    (term.stride < 0 ? range.low : range.high) += term.stride * last;
  }
  return range;
}

void Space::cut(const Coordinate& coordinate, const std::vector<std::int64_t>& boundaries) const {
  const Term* widest = nullptr;
  for (const Term& term : coordinate.terms) {
    if (term.variable < 0) throw Undecided{};
    if (widest == nullptr || std::abs(term.stride) > std::abs(widest->stride)) widest = &term;
  }
  if (widest == nullptr) throw Undecided{};
  Coordinate rest = coordinate;
  std::erase(rest.terms, *widest);
  const Range others = range(rest);
  const std::int64_t extent = this->extent(widest->variable);
  Refinement refinement{widest->variable, {}, 0};
  // Where all other variables leave it below a boundary, and where none does: between the two one
  // value of the variable is left to be cut along another one.
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

std::size_t Space::part_of(const Coordinate& coordinate,
                           const std::vector<std::int64_t>& boundaries) const {
  const Range values = range(coordinate);
  const auto part = [&](std::int64_t value) {
    return std::upper_bound(boundaries.begin(), boundaries.end(), value) - boundaries.begin();
  };
  const auto first = part(values.low);
  const auto last = part(values.high);
  if (first == last) return static_cast<std::size_t>(first);
  cut(coordinate, {boundaries.begin() + first, boundaries.begin() + last});
}

std::int64_t Space::piece_of(const Coordinate& coordinate, std::int64_t size) const {
  const Range values = range(coordinate);
  const std::int64_t first = floor_divide(values.low, size);
  const std::int64_t last = floor_divide(values.high, size);
  if (first == last) return first;
  constexpr std::int64_t kMostCuts = 1 << 16;
  std::vector<std::int64_t> boundaries;
  const std::int64_t step = (last - first - 1) / kMostCuts + 1;
  for (std::int64_t piece = first + 1; piece <= last; piece += step) {
    boundaries.push_back(piece * size);
  }
  cut(coordinate, boundaries);
}

void Space::align(const Coordinate& rest, std::int64_t size) const {
  // A variable whose stride divides the size is made of one that steps over whole multiples and one
  // that stays inside, where its extent allows; else its values are cut where a multiple ends.
  const Term* widest = nullptr;
  for (const Term& term : rest.terms) {
    if (term.variable < 0) throw Undecided{};
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
  piece_of(rest, size);
  throw Undecided{};
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
    if (left.low < 0 || left.high >= stride) align(rest, stride);
    result[i] = whole;
    linear = rest;
  }
  return result;
}

}  // namespace p2::hlo
