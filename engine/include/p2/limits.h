#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace p2 {

/// Bounds on a computation. A search that reaches one stops with what it has settled so far.
struct Limits {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::optional<std::size_t> memory_bytes;
  /// Deterministic units of work of each query to a solver: Z3's rlimit, CaDiCaL's conflicts. The
  /// explicit engine has none.
  std::optional<std::uint64_t> work;
  /// Cancels the computation once it is true. Must outlive the computation; may be null.
  const std::atomic<bool>* cancelled = nullptr;

  bool exceeded(std::size_t bytes_in_use) const {
    return (memory_bytes && bytes_in_use > *memory_bytes) ||
           (deadline && std::chrono::steady_clock::now() > *deadline) ||
           (cancelled != nullptr && cancelled->load(std::memory_order_relaxed));
  }
  /// Throws LimitReached, with `activity` in its message, if a limit is exceeded.
  void require(std::size_t bytes_in_use, std::string_view activity) const;
};

/// Receives a line about a running computation, about once a second after the first two seconds,
/// from a thread of its own, and an empty line when the computation ends after such reports. An
/// empty function: no reports.
using Progress = std::function<void(const std::string& line)>;

}  // namespace p2
