#include "engine/base/progress.h"

#include <chrono>

namespace p2 {

ProgressReporter::ProgressReporter(const Progress& progress, std::function<std::string()> describe)
    : progress_(progress), describe_(std::move(describe)) {
  if (progress_) thread_ = std::thread([this] { watch(); });
}

ProgressReporter::~ProgressReporter() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (reported_) progress_({});
}

void ProgressReporter::watch() {
  std::unique_lock lock(mutex_);
  std::chrono::seconds pause{2};
  while (!wake_.wait_for(lock, pause, [this] { return stop_; })) {
    pause = std::chrono::seconds{1};
    progress_(describe_());
    reported_ = true;
  }
}

}  // namespace p2
