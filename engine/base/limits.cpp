#include "p2/limits.h"

#include <fmt/format.h>

#include "p2/error.h"

namespace p2 {

void Limits::require(std::size_t bytes_in_use, std::string_view activity) const {
  if (memory_bytes && bytes_in_use > *memory_bytes) {
    throw LimitReached(LimitReached::Kind::Memory,
                       fmt::format("{}: memory limit of {} MiB reached", activity,
                                   *memory_bytes >> 20U));
  }
  if (deadline && std::chrono::steady_clock::now() > *deadline) {
    throw LimitReached(LimitReached::Kind::Time, fmt::format("{}: time limit reached", activity));
  }
  if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
    throw LimitReached(LimitReached::Kind::Cancelled, fmt::format("{}: cancelled", activity));
  }
}

}  // namespace p2
