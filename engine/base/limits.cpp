#include "engine/base/limits.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "p2/error.h"
#include "p2/limits.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace p2 {
namespace {

bool is_after(const std::optional<std::chrono::steady_clock::time_point>& deadline) {
  return deadline && std::chrono::steady_clock::now() > *deadline;
}

bool is_set(const std::atomic<bool>* flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

/// As resident_memory(), at most half a millisecond old: measuring takes some microseconds, and
/// limits are compared in inner loops.
std::size_t recent_resident_memory() {
  using std::chrono::steady_clock;
  constexpr std::chrono::microseconds kMaxAge{500};
  thread_local std::optional<steady_clock::time_point> measured;
  thread_local std::size_t bytes = 0;
  const steady_clock::time_point now = steady_clock::now();
  if (!measured || now - *measured > kMaxAge) {
    measured = now;
    bytes = resident_memory();
  }
  return bytes;
}

bool exceeds_memory(const Limits& limits, std::size_t bytes_in_use) {
  return limits.memory_bytes &&
         (bytes_in_use > *limits.memory_bytes || recent_resident_memory() > *limits.memory_bytes);
}

}  // namespace

std::size_t resident_memory() {
  // proc(5): the second number of statm is the resident set in pages.
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 128> text{};
  const ssize_t length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  if (length <= 0) return 0;
  char* second = nullptr;
  std::strtoull(text.data(), &second, 10);
  return std::strtoull(second, nullptr, 10) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(size)
                               : 0;
}

void release_free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

Limits Limits::within(std::chrono::steady_clock::duration time) const {
  Limits bounded = *this;
  const auto end = std::chrono::steady_clock::now() + time;
  bounded.deadline = deadline ? std::min(*deadline, end) : end;
  return bounded;
}

bool Limits::exceeded(std::size_t bytes_in_use) const {
  return is_set(cancelled) || is_after(deadline) || exceeds_memory(*this, bytes_in_use);
}

void Limits::require(std::size_t bytes_in_use, std::string_view activity) const {
  if (is_set(cancelled)) {
    throw LimitReached(LimitReached::Kind::Cancelled, fmt::format("{}: cancelled", activity));
  }
  if (is_after(deadline)) {
    throw LimitReached(LimitReached::Kind::Time, fmt::format("{}: time limit reached", activity));
  }
  if (exceeds_memory(*this, bytes_in_use)) {
    throw LimitReached(LimitReached::Kind::Memory, fmt::format("{}: memory limit of {} MiB reached",
                                                               activity, *memory_bytes >> 20U));
  }
}

std::size_t Limits::room(std::size_t most) const {
  if (!memory_bytes) return most;
  return std::min(most, *memory_bytes - std::min(*memory_bytes, resident_memory()));
}

void Limits::require_room(double bytes, std::string_view activity) const {
  if (!memory_bytes || bytes + static_cast<double>(resident_memory()) <= double(*memory_bytes)) {
    return;
  }
  throw LimitReached(LimitReached::Kind::Memory,
                     fmt::format("{}: needs about {:.0f} MiB more, the memory limit is {} MiB",
                                 activity, bytes / (1 << 20), *memory_bytes >> 20U));
}

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
