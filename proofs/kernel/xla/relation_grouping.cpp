// Places along several dimensions as places along others with as many elements.

#include <algorithm>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

constexpr std::size_t kMaxSegments = 1U << 14U;  ///< of one device

void add(Segments& all, const Segment& next) {
  if (!all.empty() && all.back().at + all.back().size == next.at &&
      all.back().of + all.back().size == next.of)
    all.back().size += next.size;
  else
    all.push_back(next);
}

/// The place along every dimension of an element with this row-major number.
Index index_of(std::int64_t number, const Index& sizes) {
  Index index(sizes.size());
  for (std::size_t k = sizes.size(); k-- > 0;) {
    index[k] = number % sizes[k];
    number /= sizes[k];
  }
  return index;
}

/// Segments along dimensions, if together they are these of one device: a box for each.
std::optional<std::vector<Segments>> along_dimensions(const Segments& all, const Index& own,
                                                      const Index& sizes) {
  std::vector<Segments> dimensions(own.size());
  for (const Segment& each : all) {
    const Index at = index_of(each.at, own);
    const Index of = index_of(each.of, sizes);
    std::int64_t rows = each.size;
    std::size_t k = own.size();
    for (; k-- > 0;) {
      // Whole dimensions first, then some of one, one index of those before.
      const bool is_whole = own[k] == sizes[k] && at[k] == 0 && of[k] == 0 && rows % own[k] == 0;
      const std::int64_t size = is_whole ? own[k] : rows;
      if (at[k] + size > own[k] || of[k] + size > sizes[k]) return std::nullopt;
      dimensions[k].push_back({at[k], of[k], size});
      rows = is_whole ? rows / own[k] : 1;
    }
  }
  for (Segments& list : dimensions) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    std::int64_t end = 0;
    for (const Segment& each : list) {
      if (each.at < end) return std::nullopt;
      end = each.at + each.size;
    }
  }
  return dimensions;
}

}  // namespace

std::optional<std::vector<Segments>> Places::joined(const std::vector<std::size_t>& places,
                                                    Budget& budget) {
  std::vector<Segments> devices(devices_, {{0, 0, 1}});
  std::int64_t own = 1, whole = 1;  // elements of the dimensions inside
  for (std::size_t k = places.size(); k-- > 0;) {
    const auto fixed = this->fixed(places[k]);
    if (!fixed) return std::nullopt;
    const Place place = at(*fixed);
    for (std::size_t device = 0; device < devices_; ++device) {
      Segments& inner = devices[device];
      const bool is_all = own == whole && inner == Segments{{0, 0, own}};
      Segments all;
      for (const Segment& each : place.devices[device]) {
        if (is_all) {
          add(all, {each.at * own, each.of * whole, each.size * own});
          continue;
        }
        for (std::int64_t row = 0; row < each.size && !inner.empty(); ++row) {
          budget.spend(inner.size());
          if (all.size() + inner.size() > kMaxSegments) return std::nullopt;
          for (const Segment& part : inner)
            add(all,
                {(each.at + row) * own + part.at, (each.of + row) * whole + part.of, part.size});
        }
      }
      inner = std::move(all);
    }
    own *= place.size;
    whole *= place.whole;
  }
  return devices;
}

std::optional<std::vector<std::size_t>> Places::split(const std::vector<std::size_t>& places,
                                                      const Index& own, const Index& sizes,
                                                      Budget& budget) {
  const auto all = joined(places, budget);
  if (!all) return std::nullopt;
  std::vector<std::vector<Segments>> dimensions(own.size(), std::vector<Segments>(devices_));
  for (std::size_t device = 0; device < devices_; ++device) {
    const auto along = along_dimensions((*all)[device], own, sizes);
    if (!along) return std::nullopt;
    for (std::size_t k = 0; k < own.size(); ++k) dimensions[k][device] = (*along)[k];
  }
  std::vector<std::size_t> result;
  for (std::size_t k = 0; k < own.size(); ++k)
    result.push_back(segments(own[k], sizes[k], std::move(dimensions[k])));
  // All combinations of them, and no others.
  return joined(result, budget) == all ? std::optional(result) : std::nullopt;
}

}  // namespace p2::kernel::xla
