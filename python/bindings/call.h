#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "p2/answer.h"

namespace p2::python {

namespace nb = nanobind;

/// The keyword arguments that every call takes.
struct CallOptions {
  std::optional<double> timeout;        ///< seconds
  std::optional<std::uint64_t> memory;  ///< bytes
  std::optional<std::uint64_t> rlimit;  ///< units of work of each query to a solver
  unsigned jobs = 0;                    ///< threads; 0 = one per core
  std::uint64_t seed = 1;
  nb::object progress = nb::none();  ///< a callable with a line, or None
};

/// How often a waiting call looks at signals and passes on progress.
constexpr std::chrono::milliseconds kSignalPeriod(50);

/// A computation in a thread of its own, so that the calling thread can look at signals.
class Computation {
 public:
  explicit Computation(const CallOptions& call) : progress_(call.progress) {
    if (call.timeout) {
      options_.limits.deadline = std::chrono::steady_clock::now() +
                                 std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                     std::chrono::duration<double>(*call.timeout));
    }
    if (call.memory) options_.limits.memory_bytes = static_cast<std::size_t>(*call.memory);
    options_.limits.work = call.rlimit;
    options_.limits.cancelled = &cancelled_;
    options_.jobs = call.jobs;
    options_.seed = call.seed;
    if (!progress_.is_none()) {
      options_.progress = [this](const std::string& line) {
        const std::lock_guard lock(mutex_);
        lines_.push_back(line);
      };
    }
  }

  /// `work(options)`. Holds the GIL only to look at signals and to call `progress`; an exception of
  /// either cancels the work and is thrown once that has ended.
  template <typename Work>
  auto run(const Work& work) {
    std::optional<decltype(work(std::as_const(options_)))> answer;
    std::exception_ptr failure;
    std::exception_ptr interruption;
    bool done = false;
    {
      const nb::gil_scoped_release release;
      std::thread thread([&] {
        try {
          answer.emplace(work(std::as_const(options_)));
        } catch (...) {
          failure = std::current_exception();
        }
        const std::lock_guard lock(mutex_);
        done = true;
        finished_.notify_one();
      });
      std::unique_lock lock(mutex_);
      while (!done) {
        finished_.wait_for(lock, kSignalPeriod, [&] { return done; });
        if (done || interruption) continue;
        std::vector<std::string> lines = std::exchange(lines_, {});
        lock.unlock();
        interruption = look_around(lines);
        lock.lock();
      }
      lock.unlock();
      thread.join();
    }
    if (interruption) std::rethrow_exception(interruption);
    if (failure) std::rethrow_exception(failure);
    return std::move(*answer);
  }

 private:
  /// Handles signals and calls `progress`; what they raise cancels the work and is returned.
  std::exception_ptr look_around(const std::vector<std::string>& lines) {
    const nb::gil_scoped_acquire acquire;
    try {
      if (PyErr_CheckSignals() != 0) nb::raise_python_error();
      for (const std::string& line : lines) progress_(line);
    } catch (...) {
      cancelled_ = true;
      return std::current_exception();
    }
    return nullptr;
  }

  nb::object progress_;
  Options options_;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::vector<std::string> lines_;
};

template <typename Work>
auto run_without_gil(const CallOptions& call, const Work& work) {
  return Computation(call).run(work);
}

}  // namespace p2::python
