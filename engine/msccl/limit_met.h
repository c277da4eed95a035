#pragma once

#include <cstddef>

#include "p2/limits.h"

namespace p2::msccl {

/// Thrown where a limit stops the judging of an algorithm; judge() makes it the verdict `unknown`.
struct LimitMet {};

/// Looks at the limits, and at the clock only every so often.
class LimitWatch {
 public:
  explicit LimitWatch(const Limits& limits) : limits_(limits) {}

  /// Before one more step of work. Throws LimitMet.
  void step() {
    if (++steps_ % kSteps == 0) check();
  }
  /// Before memory is taken. Throws LimitMet.
  void take(std::size_t bytes) {
    bytes_ += bytes;
    check();
  }
  /// Memory that step() is to look at.
  void count(std::size_t bytes) { bytes_ += bytes; }
  void give_back(std::size_t bytes) { bytes_ -= bytes; }
  void check() const {
    if (limits_.exceeded(bytes_)) throw LimitMet();
  }

 private:
  static constexpr std::size_t kSteps = 4096;

  const Limits& limits_;
  std::size_t steps_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace p2::msccl
