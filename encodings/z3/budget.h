#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <z3++.h>

namespace p2::z3_encoding {

/// What a query may use up. A query that meets a limit is `unknown`, with what it has settled.
struct Budget {
  std::optional<std::chrono::milliseconds> timeout;
  /// Z3's own count of its work: the same on every machine and in every run.
  std::optional<std::uint64_t> rlimit;
};

/// How much of a budget a context has used since the meter was started.
class Meter {
 public:
  Meter(z3::context& context, const Budget& budget);

  bool exhausted() const;
  /// Lets the next check of `solver` use what is left.
  void allow(z3::solver& solver) const;
  /// Units of work so far, as `rlimit` counts them.
  std::uint64_t work() const;

 private:
  z3::context* context_;
  Budget budget_;
  std::chrono::steady_clock::time_point start_;
  std::uint64_t work_at_start_ = 0;
};

}  // namespace p2::z3_encoding
