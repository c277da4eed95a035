#include "engine/reshard/busy_times.h"

#include <algorithm>

namespace p2 {

std::int64_t BusyTimes::free_from(std::size_t host, std::int64_t start, std::int64_t size) const {
  const auto& spans = spans_[host];
  auto span = std::partition_point(spans.begin(), spans.end(),
                                   [&](const Span& each) { return each.end <= start; });
  for (; span != spans.end() && span->start < start + size; ++span) start = span->end;
  return start;
}

void BusyTimes::add(std::size_t host, std::int64_t start, std::int64_t end, std::size_t place) {
  auto& spans = spans_[host];
  const auto at = std::partition_point(spans.begin(), spans.end(),
                                       [&](const Span& each) { return each.start < start; });
  spans.insert(at, {start, end, place});
}

void BusyTimes::forget_from(std::size_t place) {
  for (auto& spans : spans_) {
    std::erase_if(spans, [&](const Span& each) { return each.place >= place; });
  }
}

}  // namespace p2
