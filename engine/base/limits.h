#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "p2/limits.h"

namespace p2 {

/// Counts the work and the memory of one computation and compares them with its limits; the clock
/// is read only once in kInterval units of work. Every member that throws throws LimitReached.
class LimitWatch {
 public:
  /// `limits` must outlive this; `activity` is named in the message.
  LimitWatch(const Limits& limits, const char* activity) : limits_(limits), activity_(activity) {}

  /// Before one more unit of work. Throws.
  void step() {
    if (++steps_ % kInterval == 0) check();
  }
  /// Before memory is allocated. Throws.
  void take(std::size_t bytes) {
    bytes_ += bytes;
    check();
  }
  /// Before `bytes` are allocated at once. Throws.
  void require_room(std::size_t bytes) const {
    if (bytes > kSmallAllocation) limits_.require_room(static_cast<double>(bytes), activity_);
  }
  /// Before `more` elements are appended to a vector, which then may have to move to twice its
  /// capacity. Throws.
  template <typename Vector>
  void require_growth(const Vector& vector, std::size_t more) const {
    if (vector.size() + more <= vector.capacity()) return;
    require_room((2 * vector.capacity() + more) * sizeof(typename Vector::value_type));
  }
  /// Memory that the next step() or check() compares with the limit.
  void count(std::size_t bytes) { bytes_ += bytes; }
  void give_back(std::size_t bytes) { bytes_ -= bytes; }
  /// Throws.
  void check() const { limits_.require(bytes_, activity_); }

 private:
  static constexpr std::size_t kInterval = 4096;
  static constexpr std::size_t kSmallAllocation = std::size_t{1} << 20U;

  const Limits& limits_;
  const char* activity_;
  std::size_t steps_ = 0;
  std::size_t bytes_ = 0;
};

/// Calls `progress` with `describe()` every second, from a thread of its own, once it has lived for
/// two seconds, and with an empty line at its end if it did. Lives as long as the computation that
/// it describes.
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
