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

/// Where counting elements ends: far beyond any tensor, and four bytes each can be counted, too.
constexpr std::int64_t kMostCounted = std::int64_t{1} << 61U;

/// Elements of a tensor: from `low` to before `high` in every dimension. Boxes that are used
/// together have the same number of dimensions.
struct Box {
  Element low;
  Element high;

  /// 0 where some dimension is empty; kMostCounted where there are as many or more.
  std::int64_t elements() const;
  bool contains(const Box& other) const;
  bool contains(const Element& element) const;
  bool operator==(const Box&) const = default;
};

/// What both have, maybe nothing.
Box common(const Box& a, const Box& b);
bool overlap(const Box& a, const Box& b);

/// The first part of `box`, in the order of subtraction, that is in none of `cover`; nothing where
/// they cover it. Takes least time where `cover` is sorted.
std::optional<Box> first_uncovered(const Box& box, std::span<const Box> cover);

/// At most `parts` boxes that are not empty, are as equal as they can be and have all of `box`
/// together: slabs of the first dimension that is long enough, or of the longest, cut further.
std::vector<Box> split(const Box& box, std::int64_t parts);

/// `[0:4, 2:8]`
std::string to_string(const Box& box);
/// `[3, 2]`
std::string to_string(const Element& element);

}  // namespace p2::reshard
