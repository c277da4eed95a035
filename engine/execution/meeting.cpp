#include "engine/execution/meeting.h"

#include <algorithm>

namespace p2::execution {

void Meeting::meet() {
  const auto now = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (given_up_ || (deadline_ && now >= *deadline_)) throw MeetingEnded();
  if (++here_ == threads_) {
    here_ = 0;
    ++round_;
    all_here_.notify_all();
    return;
  }
  const auto latest = deadline_ ? std::min(*deadline_, now + kPatience) : now + kPatience;
  const auto over = [this, round = round_] { return given_up_ || round_ != round; };
  if (!all_here_.wait_until(lock, latest, over) || given_up_) throw MeetingEnded();
}

void Meeting::give_up() {
  const std::scoped_lock lock(mutex_);
  given_up_ = true;
  all_here_.notify_all();
}

}  // namespace p2::execution
