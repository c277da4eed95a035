#pragma once

#include <atomic>
#include <cstdint>

namespace p2 {

/// How far a synthesis has come, for whoever watches it from another thread.
struct SearchProgress {
  std::atomic<std::uint64_t> searches = 0;  ///< distinct problems to search
  std::atomic<std::uint64_t> searches_done = 0;
  std::atomic<std::uint64_t> states = 0;  ///< system states expanded, over all searches
};

}  // namespace p2
