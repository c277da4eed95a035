#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace p2::reshard {

/// The coordinates of an element of a tensor.
using Element = std::vector<std::int64_t>;

/// Element counts saturate here: beyond any tensor, and the bytes of 4-byte elements do not
/// overflow.
constexpr std::int64_t kMaxCountedElements = std::int64_t{1} << 61U;

/// Elements of a tensor: from `low` to before `high` in every dimension. Boxes that are used
/// together have the same number of dimensions.
struct Box {
  Element low;
  Element high;

  /// The number of elements, saturated at kMaxCountedElements.
  std::int64_t elements() const;
  bool contains(const Box& other) const;
  bool contains(const Element& element) const;
  bool operator==(const Box&) const = default;
};

/// The intersection, which may be empty.
Box common(const Box& a, const Box& b);
bool overlap(const Box& a, const Box& b);

/// The part of `box` outside all boxes of `cover` that has the lowest corner; empty if they cover
/// it. Subtracts them one by one; fastest if `cover` is sorted.
std::optional<Box> first_uncovered(const Box& box, std::span<const Box> cover);

/// A partition of `box` into at most `parts` nonempty boxes of sizes as equal as possible: slabs of
/// the first dimension that is long enough, or of the longest, split further.
std::vector<Box> split(const Box& box, std::int64_t parts);

/// `[0:4, 2:8]`
std::string to_string(const Box& box);
/// `[3, 2]`
std::string to_string(const Element& element);

}  // namespace p2::reshard
