#include "engine/reshard/plans/box.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::reshard {
namespace {

/// Appends the difference of `box` and `cut` as disjoint boxes.
void append_rest(Box box, const Box& cut, std::vector<Box>& rest) {
  if (!overlap(box, cut)) {
    rest.push_back(std::move(box));
    return;
  }
  for (std::size_t i = 0; i < box.low.size(); ++i) {
    if (box.low[i] < cut.low[i]) {
      rest.push_back(box);
      rest.back().high[i] = cut.low[i];
      box.low[i] = cut.low[i];
    }
    if (cut.high[i] < box.high[i]) {
      rest.push_back(box);
      rest.back().low[i] = cut.high[i];
      box.high[i] = cut.high[i];
    }
  }
}

std::int64_t length(const Box& box, std::size_t dimension) {
  return box.high[dimension] - box.low[dimension];
}

/// Appends `parts` slabs along a dimension. Precondition: it is at least that long.
void append_slabs(const Box& box, std::size_t dimension, std::int64_t parts,
                  std::vector<Box>& slabs) {
  const std::int64_t whole = length(box, dimension);
  for (std::int64_t i = 0; i < parts; ++i) {
    Box& slab = slabs.emplace_back(box);
    slab.low[dimension] = box.low[dimension] + whole * i / parts;
    slab.high[dimension] = box.low[dimension] + whole * (i + 1) / parts;
  }
}

void append_parts(const Box& box, std::int64_t parts, std::vector<Box>& all) {
  std::size_t longest = 0;
  for (std::size_t i = 0; i < box.low.size(); ++i) {
    if (length(box, i) >= parts) return append_slabs(box, i, parts, all);
    if (length(box, i) > length(box, longest)) longest = i;
  }
  const std::int64_t slabs = length(box, longest);
  if (slabs == 1) {
    all.push_back(box);
    return;
  }
  std::vector<Box> cut;
  append_slabs(box, longest, slabs, cut);
  for (std::int64_t i = 0; i < slabs; ++i) {
    append_parts(cut[static_cast<std::size_t>(i)], parts * (i + 1) / slabs - parts * i / slabs,
                 all);
  }
}

}  // namespace

std::int64_t Box::elements() const {
  std::int64_t product = 1;
  for (std::size_t i = 0; i < low.size(); ++i) {
    const std::int64_t length = high[i] - low[i];
    if (length <= 0) return 0;
    product = length > kMaxCountedElements / product ? kMaxCountedElements : product * length;
  }
  return product;
}

bool Box::contains(const Box& other) const {
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (other.low[i] < low[i] || high[i] < other.high[i]) return false;
  }
  return true;
}

bool Box::contains(const Element& element) const {
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (element[i] < low[i] || high[i] <= element[i]) return false;
  }
  return true;
}

Box common(const Box& a, const Box& b) {
  Box both = a;
  for (std::size_t i = 0; i < a.low.size(); ++i) {
    both.low[i] = std::max(a.low[i], b.low[i]);
    both.high[i] = std::min(a.high[i], b.high[i]);
  }
  return both;
}

bool overlap(const Box& a, const Box& b) {
  for (std::size_t i = 0; i < a.low.size(); ++i) {
    if (std::min(a.high[i], b.high[i]) <= std::max(a.low[i], b.low[i])) return false;
  }
  return true;
}

std::optional<Box> first_uncovered(const Box& box, std::span<const Box> cover) {
  std::vector<Box> left{box};
  for (const Box& cut : cover) {
    if (!overlap(box, cut)) continue;
    std::vector<Box> rest;
    for (Box& each : left) append_rest(std::move(each), cut, rest);
    left = std::move(rest);
    if (left.empty()) return std::nullopt;
  }
  return *std::min_element(left.begin(), left.end(),
                           [](const Box& a, const Box& b) { return a.low < b.low; });
}

std::vector<Box> split(const Box& box, std::int64_t parts) {
  std::vector<Box> all;
  if (box.elements() > 0) append_parts(box, std::min(parts, box.elements()), all);
  return all;
}

std::string to_string(const Box& box) {
  std::string text;
  for (std::size_t i = 0; i < box.low.size(); ++i) {
    text += fmt::format("{}{}:{}", i == 0 ? "[" : ", ", box.low[i], box.high[i]);
  }
  return text + "]";
}

std::string to_string(const Element& element) {
  return fmt::format("[{}]", fmt::join(element, ", "));
}

}  // namespace p2::reshard
