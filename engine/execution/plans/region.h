#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/reshard/plans/box.h"

namespace p2::reshard {

/// An element as a run moves it. 0 stands for what no tensor has.
using Word = std::uint32_t;

/// The value of an element of a tensor: by its number in row-major order, never 0, another one for
/// each of 2^32 − 1 elements in a row.
Word value_of(const std::vector<std::int64_t>& shape, const Element& element);

/// Elements that lie one after the other in a buffer and in a message at once; offsets in elements.
struct Run {
  std::int64_t in_buffer = 0;
  std::int64_t in_message = 0;
  std::int64_t length = 0;
};

/// The runs of a box in a buffer that holds `region` in row-major order; a message has the box in
/// that order. What is not in the region is in no run.
void for_each_run(const Box& region, const Box& box, const std::function<void(const Run&)>& visit);

/// A message: the box out of a buffer, 0 where the buffer does not have it.
std::vector<Word> packed(const Word* buffer, const Box& region, const Box& box);
/// Puts a message, which may be shorter or longer than the box, in its places.
void unpack(std::span<const Word> message, const Box& box, Word* buffer, const Box& region);
/// From buffer to buffer; both have all of the box.
void copy_box(const Word* from, const Box& from_region, Word* to, const Box& to_region,
              const Box& box);

}  // namespace p2::reshard
