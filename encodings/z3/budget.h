#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <z3++.h>

#include "p2/limits.h"

namespace p2::z3_encoding {

/// What a query may use up. A query that meets a limit is `unknown`, with what it has settled.
struct Budget {
  std::optional<std::chrono::milliseconds> timeout;
  /// Z3's own count of its work: the same on every machine and in every run.
  std::optional<std::uint64_t> rlimit;
  /// What Z3 has allocated in the whole process.
  std::optional<std::size_t> memory_bytes;
};

/// What is left of the limits, for one query.
Budget budget_of(const Limits& limits);

/// Thrown by Meter::checkpoint; a query answers with what it has settled.
struct OutOfBudget {};

/// How much of a budget a context has used since the meter was started.
class Meter {
 public:
  Meter(z3::context& context, const Budget& budget);

  bool exhausted() const;
  /// Throws OutOfBudget if exhausted. For the building of large formulas, which no solver stops.
  void checkpoint() const;
  /// Checks with what is left; unknown if that does not suffice.
  z3::check_result check(z3::solver& solver, z3::expr_vector assumptions) const;
  /// Units of work so far, as `rlimit` counts them.
  std::uint64_t work() const;

 private:
  void allow(z3::solver& solver) const;

  z3::context* context_;
  Budget budget_;
  std::chrono::steady_clock::time_point start_;
  std::uint64_t work_at_start_ = 0;
};

}  // namespace p2::z3_encoding
