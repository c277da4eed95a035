// Bitcasts as the moves that they are made of.

#include <algorithm>
#include <numeric>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// Dimensions, the outermost in memory first; nothing where a layout does not name each once.
std::optional<Index> memory_order(const Shape& shape) {
  Index order(shape.layout.rbegin(), shape.layout.rend());
  Index all(shape.sizes.size());
  std::iota(all.begin(), all.end(), 0);
  if (order.empty()) return all;
  return std::is_permutation(order.begin(), order.end(), all.begin(), all.end())
             ? std::optional(order)
             : std::nullopt;
}

Index sizes_in(const Index& order, const Index& sizes) {
  Index list;
  for (const std::int64_t each : order) list.push_back(element_of(sizes, each));
  return list;
}

/// The dimensions of more than one index in the order of memory, as their numbers among those:
/// dimensions of one index may be anywhere.
Index long_order(const Index& order, const Index& sizes) {
  Index result;
  for (const std::int64_t each : order) {
    if (element_of(sizes, each) != 1)
      result.push_back(each - std::count(sizes.begin(), sizes.begin() + each, 1));
  }
  return result;
}

Index long_sizes(Index sizes) {
  std::erase(sizes, 1);
  return sizes;
}

/// Whether arrays of these sizes, in the order of memory, cut into the same tiles, have elements of
/// one row-major number at the same place. The first tile leaves dimensions of its own sizes, which
/// is all that others cut; so the rows of tiles have to be the same.
bool are_tiled_alike(Index a, Index b, const std::vector<Index>& tiles) {
  const std::size_t rank = tiles[0].size();
  for (const Index& tile : tiles) {
    if (tile.empty() || tile.size() > rank ||
        std::any_of(tile.begin(), tile.end(), [](std::int64_t size) { return size < 1; }))
      return false;
  }
  for (Index* sizes : {&a, &b}) {
    while (sizes->size() < rank) sizes->insert(sizes->begin(), 1);
  }
  const auto tail = static_cast<std::ptrdiff_t>(rank);
  const std::int64_t rows_a = *(a.end() - tail);
  const std::int64_t rows_b = *(b.end() - tail);
  const bool are_whole = rows_a % tiles[0][0] == 0 && rows_b % tiles[0][0] == 0;
  return (rows_a == rows_b || are_whole) &&
         std::equal(a.end() - tail + 1, a.end(), b.end() - tail + 1);
}

/// The same of different tiles of two dimensions, of one column each: rows follow one another,
/// whatever number of them the first tile has, if all tiles of rows but the last are whole. The
/// second one joins rows within the first.
bool are_rows_tiled_alike(Index a, const std::vector<Index>& of_a, Index b,
                          const std::vector<Index>& of_b) {
  if (of_a.empty() || of_a.size() > 2 || of_a.size() != of_b.size()) return false;
  const auto is_fit = [](Index& sizes, const std::vector<Index>& tiles) {
    for (const Index& tile : tiles) {
      if (tile.size() != 2 || tile[0] < 1 || tile[1] < 1) return false;
    }
    if (tiles.size() == 2 && (tiles[1][1] != 1 || tiles[0][0] % tiles[1][0] != 0)) return false;
    while (sizes.size() < 2) sizes.insert(sizes.begin(), 1);
    const std::size_t rows = sizes.size() - 2;
    const bool is_alone =
        std::all_of(sizes.begin(), sizes.end() - 2, [](std::int64_t size) { return size == 1; });
    return sizes.back() <= tiles[0][1] && (is_alone || sizes[rows] % tiles[0][0] == 0);
  };
  return is_fit(a, of_a) && is_fit(b, of_b) && of_a[0][1] == of_b[0][1] && a.back() == b.back() &&
         (of_a.size() == 1 || of_a[1] == of_b[1]);
}

}  // namespace

std::optional<std::vector<Instruction>> steps_of_bitcast(const Instruction& bitcast,
                                                         const Shape& from) {
  const Shape& to = bitcast.shape;
  if (from.is_tuple || to.is_tuple || !(from.type == to.type) || from.elements() != to.elements())
    return std::nullopt;
  const auto order = memory_order(from);
  const auto new_order = memory_order(to);
  if (!order || !new_order) return std::nullopt;
  const Index sizes = sizes_in(*order, from.sizes);
  const Index new_sizes = sizes_in(*new_order, to.sizes);
  const bool are_alike = from.tiles == to.tiles
                             ? from.tiles.empty() || are_tiled_alike(sizes, new_sizes, from.tiles)
                             : are_rows_tiled_alike(sizes, from.tiles, new_sizes, to.tiles);
  // One element is the first of the first tile.
  if (!are_alike && from.elements() != 1) return std::nullopt;
  std::vector<Instruction> steps;
  const auto add = [&](const char* opcode, const Index& own, const Index& dimensions) {
    Instruction step{bitcast.name, opcode, {}, bitcast.operands, "", {}};
    step.shape.type = to.type;
    step.shape.sizes = own;
    if (!dimensions.empty()) step.attributes.set("dimensions", text_of(dimensions));
    steps.push_back(std::move(step));
  };
  const Index memory = long_order(*order, from.sizes);
  const Index new_memory = long_order(*new_order, to.sizes);
  if (memory == new_memory && long_sizes(from.sizes) == long_sizes(to.sizes)) {
    add("reshape", to.sizes, {});
    return steps;
  }
  Index now = from.sizes;
  if (!std::is_sorted(memory.begin(), memory.end())) add("transpose", now = sizes, *order);
  const bool is_last = std::is_sorted(new_memory.begin(), new_memory.end());
  const Index& next = is_last ? to.sizes.all() : new_sizes;
  if (now != next || (is_last && steps.empty())) add("reshape", next, {});
  if (!is_last) {
    Index places(new_order->size());
    for (std::size_t k = 0; k < places.size(); ++k)
      places[static_cast<std::size_t>((*new_order)[k])] = static_cast<std::int64_t>(k);
    add("transpose", to.sizes, places);
  }
  return steps;
}

}  // namespace p2::kernel::xla
