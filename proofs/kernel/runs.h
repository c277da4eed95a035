#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace p2::kernel {

/// A set of indexes as its maximal runs [b, e), written flat: b0 < e0 < b1 < e1 < …  Strictness
/// makes the form unique: equal sets are equal lists.
using Runs = std::vector<std::uint32_t>;

std::uint32_t size_of(const Runs& set);
bool contains(const Runs& set, std::uint32_t index);
bool subset(const Runs& small, const Runs& large);
Runs intersect(const Runs& a, const Runs& b);
/// The set of `indexes`, which ascend strictly.
Runs runs_of(const std::vector<std::uint32_t>& indexes);

/// The union of disjoint sets, or, where they are not, the position of one that meets an earlier.
struct Union {
  Runs runs;
  std::optional<std::size_t> clash;
};
Union unite(const std::vector<const Runs*>& sets);

/// Cuts `set` into `parts` consecutive parts of equal size; `parts` divides its size.
std::vector<Runs> cut(const Runs& set, std::uint32_t parts);

}  // namespace p2::kernel
