#include "encodings/z3/terms.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace p2::z3_encoding {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::uint64_t work_of(z3::context& context) {
  z3::solver any(context, z3::solver::simple());
  const z3::stats statistics = any.statistics();
  for (unsigned i = 0; i < statistics.size(); ++i) {
    if (statistics.key(i) == "rlimit count") return statistics.uint_value(i);
  }
  return 0;
}

/// Z3 takes its limits as unsigned, and 0 for none.
unsigned limit(std::uint64_t left) {
  constexpr std::uint64_t kMax = std::numeric_limits<unsigned>::max() - 1;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(left, 1, kMax));
}

}  // namespace

Budget budget_of(const Limits& limits) {
  Budget budget;
  if (limits.deadline) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(*limits.deadline - steady_clock::now());
    budget.timeout = std::max(left, milliseconds(1));
  }
  budget.rlimit = limits.work;
  budget.memory_bytes = limits.memory_bytes;
  budget.cancelled = limits.cancelled;
  return budget;
}

std::string solver_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned build = 0;
  unsigned revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  return fmt::format("{}.{}.{}", major, minor, build);
}

void throw_as_p2_error(const z3::exception& error) {
  const std::string_view message = error.msg();
  const auto says = [&](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  };
  const std::string what = fmt::format("z3: {}", message);
  if (says("memory")) throw LimitReached(LimitReached::Kind::Memory, what);
  if (says("timeout")) throw LimitReached(LimitReached::Kind::Time, what);
  if (says("rlimit") || says("resource limit")) throw LimitReached(LimitReached::Kind::Work, what);
  if (says("cancel")) throw LimitReached(LimitReached::Kind::Cancelled, what);
  throw ToolError(what);
}

Meter::Meter(z3::context& context, const Budget& budget)
    : context_(&context),
      budget_(budget),
      start_(steady_clock::now()),
      work_at_start_(budget.rlimit ? work_of(context) : 0) {}

std::uint64_t Meter::work() const { return work_of(*context_) - work_at_start_; }

bool Meter::exhausted() const {
  if (budget_.cancelled != nullptr && budget_.cancelled->load(std::memory_order_relaxed))
    return true;
  if (budget_.timeout && steady_clock::now() - start_ >= *budget_.timeout) return true;
  if (budget_.memory_bytes && Z3_get_estimated_alloc_size() >= *budget_.memory_bytes) return true;
  return budget_.rlimit && work() >= *budget_.rlimit;
}

void Meter::checkpoint() const {
  if (!exhausted()) return;
  throw LimitReached(LimitReached::Kind::Work,
                     "a limit was reached while a query was built for Z3");
}

z3::check_result Meter::check(z3::solver& solver, z3::expr_vector assumptions) const {
  if (exhausted()) return z3::unknown;
  allow(solver);
  try {
    return solver.check(std::move(assumptions));
  } catch (const z3::exception&) {
    // Z3 reports so that it ran out of memory.
    if (exhausted() || budget_.memory_bytes) return z3::unknown;
    throw;
  }
}

void Meter::allow(z3::solver& solver) const {
  z3::params params(*context_);
  if (budget_.timeout) {
    const auto used = std::chrono::duration_cast<milliseconds>(steady_clock::now() - start_);
    const auto left = std::max(*budget_.timeout - used, milliseconds(1));
    params.set("timeout", limit(static_cast<std::uint64_t>(left.count())));
  }
  if (budget_.rlimit) {
    const std::uint64_t used = std::min(work(), *budget_.rlimit);
    params.set("rlimit", limit(*budget_.rlimit - used));
  }
  if (budget_.memory_bytes) {
    params.set("max_memory", limit(*budget_.memory_bytes / kMebibyte));
  }
  if (budget_.timeout || budget_.rlimit || budget_.memory_bytes) solver.set(params);
}

}  // namespace p2::z3_encoding
