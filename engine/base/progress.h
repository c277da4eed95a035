#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "p2/limits.h"

namespace p2 {

/// Calls `progress` with `describe()` every second, from a thread of its own, once it has lived for
/// two seconds, and with an empty line at its end if it did. Lives as long as the computation that it describes.
class ProgressReporter {
 public:
  ProgressReporter(const Progress& progress, std::function<std::string()> describe);
  ~ProgressReporter();
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;

 private:
  void watch();

  const Progress& progress_;
  std::function<std::string()> describe_;
  bool stop_ = false;
  bool reported_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace p2
