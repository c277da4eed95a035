#include "engine/execution/region.h"

#include <algorithm>

namespace p2::reshard {
namespace {

std::int64_t length(const Box& box, std::size_t dimension) {
  return box.high[dimension] - box.low[dimension];
}

/// The number of the element with these coordinates in row-major order of the box.
std::int64_t offset_in(const Box& box, const Element& element) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < element.size(); ++i) {
    offset = offset * length(box, i) + element[i] - box.low[i];
  }
  return offset;
}

/// Calls `visit` with the first element of every run of `inner` that is contiguous in both others,
/// and the length of the runs.
template <typename Visit>
void visit_runs(const Box& inner, const Box& a, const Box& b, Visit visit) {
  if (inner.elements() == 0) return;
  std::size_t first = inner.low.size();  // dimensions from here on are in one run
  std::int64_t run = 1;
  while (first > 0) {
    --first;
    run *= length(inner, first);
    const bool whole =
        length(inner, first) == length(a, first) && length(inner, first) == length(b, first);
    if (!whole) break;
  }
  for (Element at = inner.low;;) {
    visit(at, run);
    std::size_t i = first;
    while (i > 0 && ++at[i - 1] == inner.high[i - 1]) {
      at[i - 1] = inner.low[i - 1];
      --i;
    }
    if (i == 0) return;
  }
}

std::uint64_t number_of(const std::vector<std::int64_t>& shape, const Element& element) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    number = number * static_cast<std::uint64_t>(shape[i]) + static_cast<std::uint64_t>(element[i]);
  }
  return number;
}

}  // namespace

Word value_of(const std::vector<std::int64_t>& shape, const Element& element) {
  return static_cast<Word>(number_of(shape, element) % UINT32_MAX) + 1;
}

void write_values(const std::vector<std::int64_t>& shape, const Element& first, std::int64_t length,
                  Word* to) {
  Word value = value_of(shape, first);
  for (std::int64_t i = 0; i < length; ++i) {
    to[i] = value;
    value = value == UINT32_MAX ? 1 : value + 1;
  }
}

void for_each_run(const Box& region, const Box& box, const std::function<void(const Run&)>& visit) {
  visit_runs(common(region, box), region, box, [&](const Element& at, std::int64_t run) {
    visit({offset_in(region, at), offset_in(box, at), run});
  });
}

std::vector<Word> packed(const Word* buffer, const Box& region, const Box& box) {
  std::vector<Word> message(static_cast<std::size_t>(box.elements()), 0);
  for_each_run(region, box, [&](const Run& run) {
    std::copy_n(buffer + run.in_buffer, run.length, message.data() + run.in_message);
  });
  return message;
}

void unpack(std::span<const Word> message, const Box& box, Word* buffer, const Box& region) {
  const auto there = static_cast<std::int64_t>(message.size());
  for_each_run(region, box, [&](const Run& run) {
    const std::int64_t length = std::min(run.length, there - run.in_message);
    if (length > 0) std::copy_n(message.data() + run.in_message, length, buffer + run.in_buffer);
  });
}

void copy_box(const Word* from, const Box& from_region, Word* to, const Box& to_region,
              const Box& box) {
  visit_runs(box, from_region, to_region, [&](const Element& at, std::int64_t run) {
    std::copy_n(from + offset_in(from_region, at), run, to + offset_in(to_region, at));
  });
}

}  // namespace p2::reshard
