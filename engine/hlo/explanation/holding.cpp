// Arrays of one module as boxes, partial reductions and multiples of those of another.

#include "engine/hlo/explanation/related_modules.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::hlo {
namespace {

/// Places in the other module at which an array is looked for.
constexpr std::size_t kMaxPlaces = 64;
constexpr std::size_t kMaxGroupsShown = 4;
constexpr std::size_t kMaxMembersShown = 8;
/// Axes of a mesh of which all subsets are tried.
constexpr std::size_t kMaxAxes = 4;

/// Devices that agree on all axes but those in the set `chosen`.
Groups groups_along(const std::vector<MeshAxis>& mesh, std::uint32_t chosen) {
  std::vector<MeshAxis> axes;
  for (std::size_t i = 0; i < mesh.size(); ++i) {
    if ((chosen >> i & 1U) != 0) axes.push_back(mesh[i]);
  }
  Groups groups;
  for (const auto& group : mesh_groups(mesh, axes, {}))
    groups.emplace_back(group.begin(), group.end());
  return groups;
}

/// Whether some dimension is not a whole number of boxes: then devices may hold padding alone.
bool has_short_box(const ArrayShape& box, const ArrayShape& whole) {
  if (box.sizes.size() != whole.sizes.size()) return false;
  bool is_uneven = false;
  for (std::size_t i = 0; i < box.sizes.size(); ++i) {
    if (box.sizes[i] > whole.sizes[i]) return false;
    is_uneven |= box.sizes[i] > 0 && whole.sizes[i] % box.sizes[i] != 0;
  }
  return is_uneven;
}

/// The value of a scalar constant of a floating-point type.
std::optional<Number> scalar_of(const Instruction& instruction) {
  const auto& literal = instruction.literal;
  if (!literal || literal->elided || literal->elements.size() != 1) return std::nullopt;
  if (!literal->shape.type.is_float() || !literal->elements[0].text.empty()) return std::nullopt;
  return literal->elements[0].number;
}

std::vector<std::uint64_t> sorted_values(const std::vector<const std::vector<Cell>*>& blocks) {
  std::vector<std::uint64_t> all;
  for (const auto* block : blocks) {
    for (const Cell& each : *block) all.push_back(each.value);
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::string lists_of(const Groups& groups) {
  std::string text;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i == kMaxGroupsShown) return text + " …";
    const auto& group = groups[i];
    text += text.empty() ? "" : " ";
    text += group.size() > kMaxMembersShown
                ? fmt::format("{{{},{},…,{}}}", group[0], group[1], group.back())
                : fmt::format("{{{}}}", fmt::join(group, ","));
  }
  return text;
}

/// Empty where the groups are not those along axes.
std::string axes_of(const Groups& groups, const std::vector<MeshAxis>& mesh) {
  for (std::uint32_t chosen = 1; chosen < (1U << std::min<std::size_t>(mesh.size(), kMaxAxes));
       ++chosen) {
    Groups along = groups_along(mesh, chosen);
    std::ranges::sort(along);
    if (along != groups) continue;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < mesh.size(); ++i) {
      if ((chosen >> i & 1U) != 0) names.push_back(mesh[i].name);
    }
    return fmt::format("{} {}", names.size() == 1 ? "axis" : "axes", fmt::join(names, ", "));
  }
  return {};
}

}  // namespace

HoldingSearch::HoldingSearch(const Trace& other, bool is_global,
                             RandomInterpretation& interpretation, std::vector<Groups> groups)
    : other_(other),
      is_global_(is_global),
      interpretation_(interpretation),
      groups_(std::move(groups)) {
  const auto add_factor = [&](Number factor) {
    if (factor.is_zero() || factor == Number{1, 1}) return;
    if (std::ranges::find(factors_, factor) == factors_.end()) factors_.push_back(factor);
  };
  for (const auto& each : groups_) add_factor({static_cast<std::int64_t>(each[0].size()), 1});
  for (std::uint32_t number = 0; number < other.arrays.size(); ++number) {
    const TracedArray& array = other.arrays[number];
    if (const auto scalar = scalar_of(*array.instruction)) add_factor(*scalar);
    bool is_first = true;
    for (const Cells& cells : array.cells) {
      if (!cells) continue;
      const auto [found, added] =
          numbers_.try_emplace(cells.get(), static_cast<std::uint32_t>(blocks_.size()));
      if (added) {
        blocks_.push_back(cells.get());
        arrays_of_.emplace_back();
        for (std::uint32_t i = 0; i < cells->size(); ++i) {
          entries_.push_back({(*cells)[i].value, found->second, i});
        }
      }
      if (is_first) arrays_of_[found->second].push_back(number);
      is_first = false;
    }
  }
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    return std::tie(a.value, a.block, a.position) < std::tie(b.value, b.block, b.position);
  });
}

auto HoldingSearch::range(std::uint64_t value) const -> std::pair<const Entry*, const Entry*> {
  struct Less {
    bool operator()(const Entry& entry, std::uint64_t other) const { return entry.value < other; }
    bool operator()(std::uint64_t other, const Entry& entry) const { return other < entry.value; }
  };
  return std::equal_range(entries_.data(), entries_.data() + entries_.size(), value, Less());
}

/// The element that occurs least in the other module, of those that do.
std::size_t HoldingSearch::probe(const std::vector<Cell>& cells) const {
  std::size_t best = 0;
  std::ptrdiff_t fewest = -1;
  for (const std::size_t at :
       {std::size_t{0}, cells.size() / 3, cells.size() / 2, cells.size() - 1}) {
    const auto [first, last] = range(cells[at].value);
    if (last == first || (fewest >= 0 && last - first >= fewest)) continue;
    fewest = last - first;
    best = at;
  }
  return best;
}

bool HoldingSearch::occurs(const TracedArray& array) const {
  const void* last = nullptr;
  for (const Cells& cells : array.cells) {
    if (!cells || cells.get() == last) continue;
    last = cells.get();
    for (const Cell& each : *cells) {
      const auto [first, end] = range(each.value);
      if (first == end) return false;
    }
  }
  return true;
}

/// Where a box lies in a whole: the first place that fits. The last box of uneven ones reaches
/// beyond the whole, and a tensor gathered from them is larger than it. Of a tensor of another rank
/// it is a range in row-major order, without an index.
std::optional<std::vector<std::int64_t>> HoldingSearch::box_start(const ArrayShape& shape,
                                                                  const std::vector<Cell>& cells,
                                                                  const ArrayShape& whole,
                                                                  std::uint32_t block) const {
  const std::vector<Cell>& all = *blocks_[block];
  const auto equal = [](const Cell& a, const Cell& b) { return a.value == b.value; };
  if (cells.size() == all.size() && std::ranges::equal(cells, all, equal)) {
    return std::vector<std::int64_t>(shape.sizes == whole.sizes ? whole.sizes.size() : 0, 0);
  }
  const bool is_flat = shape.sizes.size() != whole.sizes.size();
  if (is_flat && cells.size() > all.size()) return std::nullopt;
  const std::size_t at = probe(cells);
  const std::vector<std::int64_t> inside =
      interpreter::index_of(static_cast<std::int64_t>(at), shape.sizes);
  const std::vector<std::int64_t> strides = interpreter::strides_of(whole.sizes);
  const auto [first, last] = range(cells[at].value);
  const Entry* entry = std::lower_bound(
      first, last, block, [](const Entry& each, std::uint32_t b) { return each.block < b; });
  std::size_t tried = 0;
  for (; entry != last && entry->block == block && tried < kMaxPlaces; ++entry, ++tried) {
    if (is_flat) {
      if (entry->position < at || entry->position - at + cells.size() > all.size()) continue;
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(entry->position - at);
      if (std::equal(cells.begin(), cells.end(), from, equal)) return std::vector<std::int64_t>{};
      continue;
    }
    std::vector<std::int64_t> start = interpreter::index_of(entry->position, whole.sizes);
    bool fits = true;
    bool is_larger = false;
    for (std::size_t i = 0; i < start.size() && fits; ++i) {
      start[i] -= inside[i];
      const bool is_short = start[i] + shape.sizes[i] > whole.sizes[i];
      fits = start[i] >= 0 && (!is_short || start[i] % shape.sizes[i] == 0);
      is_larger |= shape.sizes[i] > whole.sizes[i];
    }
    std::size_t element = 0;
    if (fits) {
      interpreter::for_each_index(shape.sizes, [&](const std::vector<std::int64_t>& index) {
        const Cell& own = cells[element++];
        std::int64_t offset = 0;
        bool is_inside = true;
        for (std::size_t i = 0; i < index.size() && is_inside; ++i) {
          is_inside = start[i] + index[i] < whole.sizes[i];
          offset += (start[i] + index[i]) * strides[i];
        }
        if (!is_inside) {  // padding: of a gathered tensor it is of no use to anyone
          fits = fits && (!is_larger || range(own.value).first == range(own.value).second);
          return;
        }
        fits = fits && equal(own, all[static_cast<std::size_t>(offset)]);
      });
    }
    if (fits) return start;
  }
  return std::nullopt;
}

/// Whether the elements that devices hold are all of those of an array.
bool HoldingSearch::covers(const std::vector<Cells>& cells, std::uint32_t other) const {
  const TracedArray& whole = other_.arrays[other];
  std::vector<const std::vector<Cell>*> held;
  for (const Cells& each : cells) {
    if (each && std::ranges::find(held, each.get()) == held.end()) held.push_back(each.get());
  }
  const auto found = std::ranges::find_if(whole.cells, [](const Cells& each) { return !!each; });
  return std::ranges::includes(sorted_values(held), sorted_values({found->get()}));
}

bool HoldingSearch::verify(const TracedArray& array, const std::vector<Cells>& cells,
                           std::uint32_t other, Holding& holding) const {
  const TracedArray& whole = other_.arrays[other];
  std::map<std::pair<const void*, const void*>, std::optional<std::vector<std::int64_t>>> known;
  bool any_is_part = false;
  bool any_is_missing = false;
  // In manual parts of an unpartitioned module devices have tensors of their own.
  const bool is_shared = is_global_ && std::ranges::all_of(whole.cells, [&](const Cells& each) {
                           return each == whole.cells[0];
                         });
  const bool is_uneven = is_shared && has_short_box(array.shape, whole.shape);
  for (std::size_t device = 0; device < cells.size(); ++device) {
    holding.starts.emplace_back();
    if (!cells[device]) continue;
    const Cells& of = whole.cells[is_shared ? 0 : device];
    if (!of) return false;
    const auto [found, added] = known.try_emplace({cells[device].get(), of.get()});
    if (added) {
      found->second = box_start(array.shape, *cells[device], whole.shape, numbers_.at(of.get()));
    }
    if (!found->second && is_uneven) any_is_missing = true;
    if (!found->second && !is_uneven) return false;
    if (!found->second) continue;
    holding.starts.back() = *found->second;
    any_is_part |= cells[device]->size() != of->size();
  }
  holding.is_whole = !any_is_part && !any_is_missing;
  holding.array = other;
  return holding.is_whole || !is_shared || covers(cells, other);
}

/// `is_exact`: the array itself, not something made of it.
std::optional<Holding> HoldingSearch::find_boxes(const TracedArray& array,
                                                 const std::vector<Cells>& cells, bool is_exact) {
  const auto one = std::ranges::find_if(cells, [](const Cells& each) { return !!each; });
  if (one == cells.end() || (*one)->empty()) return std::nullopt;
  const std::size_t at = probe(**one);
  const auto [first, last] = range((**one)[at].value);
  std::vector<std::uint32_t> tried;
  std::optional<Holding> best;
  for (const Entry* entry = first; entry != last; ++entry) {
    for (const std::uint32_t other : arrays_of_[entry->block]) {
      if (std::ranges::find(tried, other) != tried.end()) continue;
      if (tried.size() >= kMaxPlaces) return best;
      tried.push_back(other);
      Holding holding;
      if (!verify(array, cells, other, holding)) continue;
      const bool is_alike =
          is_exact && other_.arrays[other].instruction->opcode == array.instruction->opcode;
      if (!best || is_alike) best = holding;
      if (is_alike) return best;
    }
  }
  return best;
}

std::optional<Holding> HoldingSearch::reduced(const TracedArray& array) {
  const ElementType type = array.shape.type;
  const auto one = std::ranges::find_if(array.cells, [](const Cells& each) { return !!each; });
  const bool everywhere =
      std::ranges::all_of(array.cells, [](const Cells& each) { return !!each; });
  if (!everywhere || array.cells.empty() || (*one)->empty()) return std::nullopt;
  const bool is_boolean = type.kind() == ElementType::Kind::Boolean;
  if (!is_boolean && !type.is_float() && !type.is_integer()) return std::nullopt;
  const std::vector<Reducer> reducers =
      is_boolean ? std::vector{Reducer::Or, Reducer::And}
                 : std::vector{Reducer::Add, Reducer::Maximum, Reducer::Minimum};
  const auto total = [&](Reducer reducer, const std::vector<std::uint32_t>& group, std::size_t at) {
    Cell all = (*array.cells[group[0]])[at];
    for (std::size_t k = 1; k < group.size(); ++k) {
      all = interpretation_.combine(reducer, type, all, (*array.cells[group[k]])[at]);
    }
    return all;
  };
  const std::size_t at = (*one)->size() / 2;
  for (const Reducer reducer : reducers) {
    for (const auto& groups : groups_) {
      const auto is_same = [&](const auto& group) {
        return std::ranges::all_of(group, [&](std::uint32_t device) {
          return array.cells[device] == array.cells[group[0]];
        });
      };
      if (groups[0].size() < 2 || std::ranges::any_of(groups, is_same)) continue;
      const auto [first, last] = range(total(reducer, groups[0], at).value);
      if (first == last) continue;
      std::vector<Cells> totals(array.cells.size());
      for (const auto& group : groups) {
        std::vector<Cell> cells;
        for (std::size_t i = 0; i < (*one)->size(); ++i) cells.push_back(total(reducer, group, i));
        const auto shared = std::make_shared<const std::vector<Cell>>(std::move(cells));
        for (const std::uint32_t device : group) totals[device] = shared;
      }
      auto found = find_boxes(array, totals, false);
      if (!found) continue;
      found->reducer = reducer;
      found->groups = groups;
      return found;
    }
  }
  return std::nullopt;
}

std::optional<Holding> HoldingSearch::scaled(const TracedArray& array) {
  const ElementType type = array.shape.type;
  if (!type.is_float()) return std::nullopt;
  const auto one = std::ranges::find_if(array.cells, [](const Cells& each) { return !!each; });
  if (one == array.cells.end() || (*one)->empty()) return std::nullopt;
  const std::size_t at = (*one)->size() / 2;
  for (const Number factor : factors_) {
    for (const Number inverse : {*quotient({1, 1}, factor), factor}) {
      const auto [first, last] = range(interpretation_.scaled((**one)[at], inverse, type).value);
      if (first == last) continue;
      std::map<const void*, Cells> known;
      std::vector<Cells> cells;
      for (const Cells& each : array.cells) {
        cells.emplace_back();
        if (!each) continue;
        Cells& result = known[each.get()];
        if (!result) {
          std::vector<Cell> all;
          for (const Cell& term : *each) all.push_back(interpretation_.scaled(term, inverse, type));
          result = std::make_shared<const std::vector<Cell>>(std::move(all));
        }
        cells.back() = result;
      }
      auto found = find_boxes(array, cells, false);
      if (!found) continue;
      found->factor = *quotient({1, 1}, inverse);
      return found;
    }
  }
  return std::nullopt;
}

std::optional<Holding> HoldingSearch::find(const TracedArray& array) {
  if (array.is_unknown || array.shape.type.kind() == ElementType::Kind::Other) return std::nullopt;
  if (auto boxes = find_boxes(array, array.cells, true)) return boxes;
  if (auto partial = reduced(array)) return partial;
  return scaled(array);
}

std::vector<Groups> likely_groups(const Module& module, const Devices& devices,
                                  const std::vector<MeshAxis>& mesh) {
  std::vector<Groups> all;
  const auto add = [&](Groups groups) {
    const bool is_even = std::ranges::all_of(
        groups, [&](const auto& group) { return group.size() == groups[0].size(); });
    if (groups.empty() || !is_even || groups[0].size() < 2) return;
    for (auto& group : groups) std::ranges::sort(group);
    std::ranges::sort(groups);
    if (std::ranges::find(all, groups) == all.end()) all.push_back(std::move(groups));
  };
  for (const Computation& computation : module.computations) {
    for (const Instruction& each : computation.instructions) {
      if (is_collective(base_opcode(each.opcode)) && each.attributes.pairs.empty())
        add(resolve(each, module.language, devices).groups);
    }
  }
  for (std::uint32_t chosen = 1; chosen < (1U << std::min<std::size_t>(mesh.size(), kMaxAxes));
       ++chosen) {
    add(groups_along(mesh, chosen));
  }
  const std::uint32_t count = devices.count();
  for (std::uint32_t size = 2; size <= count; ++size) {
    for (std::uint32_t stride = 1; stride * size <= count; ++stride) {
      if (count % (stride * size) != 0) continue;
      Groups groups;
      for (std::uint32_t first = 0; first < count; ++first) {
        if (first / stride % size != 0) continue;
        groups.emplace_back();
        for (std::uint32_t k = 0; k < size; ++k) groups.back().push_back(first + k * stride);
      }
      add(std::move(groups));
    }
  }
  std::ranges::stable_sort(all, {}, [](const Groups& groups) { return groups[0].size(); });
  return all;
}

std::string groups_text(const Groups& groups, const std::vector<MeshAxis>& mesh) {
  const std::string axes = axes_of(groups, mesh);
  return axes.empty() ? lists_of(groups) : axes;
}

}  // namespace p2::hlo
