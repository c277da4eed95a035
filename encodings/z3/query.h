#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/collective/language/definition.h"
#include "p2/limits.h"

/// Questions to Z3 about programs and plans, one header for each kind. A query that reaches a limit
/// is answered as undecided, with what it has settled.
///
/// All of them throw LimitReached where a limit is reached before there is any answer to give, or
/// where Z3 runs out of memory, and ToolError where Z3 fails otherwise. No z3::exception leaves
/// this folder.
namespace p2::z3_encoding {

/// The definitions of the collectives that a query uses, in the order of Collective: the built-in
/// ones unless others are given, which must outlive it.
using Definitions = std::span<const language::Definition>;

/// What a query may consume.
struct Budget {
  std::optional<std::chrono::milliseconds> timeout;
  /// Z3's own count of its work: the same on every machine and in every run.
  std::optional<std::uint64_t> rlimit;
  /// What Z3 has allocated in the whole process.
  std::optional<std::size_t> memory_bytes;
  /// Checked between calls of the solver; may be null.
  const std::atomic<bool>* cancelled = nullptr;
};

/// The remaining time, memory and work of the limits, for one query.
Budget budget_of(const Limits& limits);

/// The version of Z3 in use, e.g. `4.8.12`.
std::string solver_version();

}  // namespace p2::z3_encoding
