#pragma once

#include <cstdint>
#include <vector>

namespace p2 {

/// When each of several hosts does something, one thing at a time.
class BusyTimes {
 public:
  explicit BusyTimes(std::size_t hosts) : spans_(hosts) {}

  /// The earliest time from `start` at which the host has nothing to do for `size`.
  std::int64_t free_from(std::size_t host, std::int64_t start, std::int64_t size) const;
  /// `place`: of what is done, for forget_from().
  void add(std::size_t host, std::int64_t start, std::int64_t end, std::size_t place);
  /// Forgets what has this place or a later one.
  void forget_from(std::size_t place);

 private:
  struct Span {
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::size_t place = 0;
  };
  std::vector<std::vector<Span>> spans_;  // by host, ascending
};

}  // namespace p2
