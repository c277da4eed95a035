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
  /// Bounds the resident memory of the process, where it can be measured, and what a search counts
  /// as its own.
  std::optional<std::size_t> memory_bytes;
  /// Deterministic units of work of each query to a solver: Z3's rlimit, CaDiCaL's conflicts. The
  /// explicit engine has none.
  std::optional<std::uint64_t> work;
  /// Cancels the computation once it is true. Must outlive the computation; may be null.
  const std::atomic<bool>* cancelled = nullptr;

  /// The same, and at most `time` from now on.
  Limits within(std::chrono::steady_clock::duration time) const;
  /// Takes less than a tenth of a microsecond on average.
  bool exceeded(std::size_t bytes_in_use) const;
  /// Throws LimitReached, with `activity` in its message, if a limit is exceeded.
  void require(std::size_t bytes_in_use, std::string_view activity) const;
  /// How many bytes more may be used: at most `most`.
  std::size_t room(std::size_t most) const;
  /// Throws LimitReached if `bytes` more, an estimate made in advance, exceed the memory limit.
  void require_room(double bytes, std::string_view activity) const;
};

/// The resident memory of this process in bytes; 0 where the system does not say.
std::size_t resident_memory();
/// The memory of this machine in bytes; 0 where the system does not say.
std::size_t physical_memory();
/// Gives memory that was freed back to the system, where the allocator can, so that it is resident
/// no more.
void release_free_memory();

/// Receives a line about a running computation, about once a second after the first two seconds,
/// from a thread of its own, and an empty line when the computation ends after such reports. An
/// empty function: no reports.
using Progress = std::function<void(const std::string& line)>;

}  // namespace p2
