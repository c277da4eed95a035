#include "engine/execution/meeting.h"

#include <algorithm>
#include <thread>

namespace p2::execution {
namespace {

/// Waking a thread that blocks takes longer than letting the others run so many times, where all
/// are about to come.
constexpr int kMostYields = 100;

}  // namespace

void Meeting::meet() {
  const auto now = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (given_up_ || (deadline_ && now >= *deadline_)) throw MeetingEnded();
  if (++here_ == threads_) {
    here_ = 0;
    ++round_;
    if (asleep_ > 0) all_here_.notify_all();
    return;
  }
  const std::uint64_t round = round_;
  lock.unlock();
  for (int i = 0; i < kMostYields && !over(round); ++i) std::this_thread::yield();
  if (!over(round)) {
    lock.lock();
    ++asleep_;
    const auto latest = deadline_ ? std::min(*deadline_, now + kPatience) : now + kPatience;
    all_here_.wait_until(lock, latest, [&] { return over(round); });
    --asleep_;
  }
  if (given_up_ || round_ == round) throw MeetingEnded();
}

void Meeting::give_up() {
  const std::scoped_lock lock(mutex_);
  given_up_ = true;
  all_here_.notify_all();
}

}  // namespace p2::execution
