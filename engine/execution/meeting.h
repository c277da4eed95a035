#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

namespace p2::execution {

/// How long a rank may keep others waiting.
constexpr std::chrono::seconds kPatience{300};

/// Thrown to a thread that waits in vain.
struct MeetingEnded {};

/// A barrier for threads, of which there may be many more than cores: they block, and do not wait
/// for ever.
class Meeting {
 public:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  Meeting(std::uint32_t threads, Deadline deadline) : threads_(threads), deadline_(deadline) {}

  /// Returns when all have come. Throws MeetingEnded when the meeting is given up, the deadline
  /// passes, or kPatience is over.
  void meet();
  /// Whoever waits, now or later, is thrown out.
  void give_up();

 private:
  std::uint32_t threads_;
  Deadline deadline_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::uint32_t here_ = 0;
  std::uint64_t round_ = 0;
  bool given_up_ = false;
};

}  // namespace p2::execution
