#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace p2 {

/// What a device holds in one chunk: the ascending contributors whose sum it is; empty for nothing.
using Contributors = std::vector<std::uint32_t>;

/// Positions of a group whose rows of one chunk add up to `wanted`: rows[i] is what position i
/// holds; the rows of the positions returned are pairwise disjoint and their union is `wanted`,
/// which is not empty. Nothing if there are none: then no additions of whole rows make it (an exact
/// cover; branches on the first contributor that is not covered, Knuth, Dancing Links, 2000).
///
/// `self` is the position that wants it: what it holds itself is used where it can be, then the
/// positions after it in cyclic order, so that equal rows are not all taken from one device. Throws
/// LimitReached where the search is too long.
std::optional<std::vector<std::uint32_t>> addends(std::span<const Contributors> rows,
                                                  const Contributors& wanted, std::uint32_t self);

}  // namespace p2
