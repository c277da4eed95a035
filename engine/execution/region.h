#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/reshard/plans/plan.h"

namespace p2::reshard {

/// An element of a tensor at run time. 0 is the value of no element: nothing was received.
using Word = std::uint32_t;

/// The value of an element of a tensor: its number in row-major order modulo 2^32 − 1, plus 1.
Word value_of(const std::vector<std::int64_t>& shape, const Element& element);

/// Calls `visit(first, length)` for every row of the box along its last dimension, in row-major
/// order. A box of no dimensions has one element.
template <typename Visit>
void for_each_row(const Box& box, Visit visit) {
  if (box.elements() == 0) return;
  const std::size_t dimensions = box.low.size();
  const std::int64_t length = dimensions == 0 ? 1 : box.high.back() - box.low.back();
  for (Element first = box.low;;) {
    visit(first, length);
    std::size_t i = dimensions == 0 ? 0 : dimensions - 1;
    while (i > 0 && ++first[i - 1] == box.high[i - 1]) {
      first[i - 1] = box.low[i - 1];
      --i;
    }
    if (i == 0) return;
  }
}

/// The values of `length` elements of one row, from `first` on.
void write_values(const std::vector<std::int64_t>& shape, const Element& first, std::int64_t length,
                  Word* to);

/// Elements that are contiguous both in a buffer and in a message; offsets in elements.
struct Run {
  std::int64_t in_buffer = 0;
  std::int64_t in_message = 0;
  std::int64_t length = 0;
};

/// The runs of a box in a buffer that holds `region` in row-major order; a message holds the box in
/// that order. Elements outside the region are in no run.
void for_each_run(const Box& region, const Box& box, const std::function<void(const Run&)>& visit);

/// The message with a box of a buffer, 0 for elements that the buffer does not hold.
std::vector<Word> packed(const Word* buffer, const Box& region, const Box& box);
/// Writes a message, which may be shorter or longer than the box, to the buffer.
void unpack(std::span<const Word> message, const Box& box, Word* buffer, const Box& region);
/// Copies a box from buffer to buffer; both regions contain it.
void copy_box(const Word* from, const Box& from_region, Word* to, const Box& to_region,
              const Box& box);

}  // namespace p2::reshard
