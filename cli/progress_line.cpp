#include "cli/progress_line.h"

#include <unistd.h>

#include <chrono>
#include <ostream>

namespace p2 {

ProgressLine::ProgressLine(ShowProgress show, std::ostream& err,
                           std::function<std::string()> describe)
    : err_(err), describe_(std::move(describe)), on_terminal_(::isatty(STDERR_FILENO) == 1) {
  if (show == ShowProgress::Never || (show == ShowProgress::Auto && !on_terminal_)) return;
  thread_ = std::thread([this] { watch(); });
}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void ProgressLine::watch() {
  std::unique_lock lock(mutex_);
  bool printed = false;
  std::chrono::seconds pause{2};
  while (!wake_.wait_for(lock, pause, [this] { return stop_; })) {
    pause = std::chrono::seconds{1};
    err_ << (on_terminal_ ? "\r" : "") << describe_() << (on_terminal_ ? "\x1b[K" : "\n")
         << std::flush;
    printed = true;
  }
  if (printed && on_terminal_) err_ << "\r\x1b[K" << std::flush;
}

}  // namespace p2
