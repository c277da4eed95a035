#include "encodings/z3/terms.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace p2::z3_encoding {
namespace {

constexpr std::chrono::milliseconds kInterruptInterval{10};

// Of Z3's table of terms: its first size, its entry, and between which loads it was seen to double.
constexpr double kFirstSlots = 1 << 19U;
constexpr double kSlotBytes = 16;
constexpr double kFullest[] = {0.115, 0.15};

constexpr std::string_view kWriting = "writing a query as SMT-LIB";
// Of the text of a term: bytes, in all copies while it is made, and seconds, both rather too many.
constexpr double kTextBytes = 2400;
constexpr double kTextSeconds = 1e-5;

std::uint64_t work_of(z3::context& context) {
  z3::solver any(context, z3::solver::simple());
  const z3::stats statistics = any.statistics();
  for (unsigned i = 0; i < statistics.size(); ++i) {
    if (statistics.key(i) == "rlimit count") return statistics.uint_value(i);
  }
  return 0;
}

/// Z3 takes its limit of work as unsigned, and 0 for none.
unsigned limit(std::uint64_t left) {
  constexpr std::uint64_t kMax = std::numeric_limits<unsigned>::max() - 1;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(left, 1, kMax));
}

}  // namespace

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

Meter::Meter(z3::context& context, const Limits& limits)
    : context_(&context), limits_(limits), work_at_start_(limits.work ? work_of(context) : 0) {
  if (limits.deadline || limits.memory_bytes || limits.cancelled != nullptr) {
    interrupter_ = std::thread([this] { interrupt_when_exceeded(); });
  }
}

Meter::~Meter() {
  if (!interrupter_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  interrupter_.join();
}

void Meter::interrupt_when_exceeded() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kInterruptInterval, [this] { return stop_; })) {
    if (limits_.exceeded(0)) context_->interrupt();
  }
}

std::uint64_t Meter::work() const { return work_of(*context_) - work_at_start_; }

bool Meter::exhausted() const {
  return limits_.exceeded(0) || (limits_.work && work() >= *limits_.work);
}

double Meter::terms() const {
  const z3::expr probe(*context_, Z3_mk_fresh_const(*context_, "probe", context_->bool_sort()));
  return Z3_get_ast_id(*context_, probe);
}

std::string Meter::smt_lib(z3::solver& solver) const {
  checkpoint();
  const double n = terms();
  limits_.require_room(n * kTextBytes, kWriting);
  if (limits_.deadline) {
    const std::chrono::duration<double> left = *limits_.deadline - std::chrono::steady_clock::now();
    if (n * kTextSeconds > left.count()) {
      throw LimitReached(LimitReached::Kind::Time,
                         fmt::format("{}: would take about {:.0f} s", kWriting, n * kTextSeconds));
    }
  }
  return solver.to_smt2();
}

void Meter::require_building() const {
  if (!limits_.memory_bytes) return limits_.require(0, kActivity);
  limits_.require(2 * Z3_get_estimated_alloc_size(), kActivity);
  // Z3's table of terms doubles at once, at about an eighth of its slots of 16 bytes, and the old
  // one is kept until then. Terms are numbered; the number of a new one says how many there are.
  const double terms = this->terms();
  for (double slots = kFirstSlots; slots * kFullest[0] < terms; slots *= 2) {
    if (terms < slots * kFullest[1]) limits_.require_room(2 * kSlotBytes * slots, kActivity);
  }
}

void Meter::checkpoint() const {
  require_building();
  if (!limits_.work || work() < *limits_.work) return;
  throw LimitReached(LimitReached::Kind::Work, fmt::format("{}: work limit reached", kActivity));
}

/// Solving takes up to twice what the terms take, in phases that cannot be interrupted.
bool Meter::has_room_to_solve() const {
  if (!limits_.memory_bytes) return true;
  const std::uint64_t needed = 2 * Z3_get_estimated_alloc_size();
  if (limits_.room(needed) == needed) return true;
  release_free_memory();  // of terms that were built and dropped
  return limits_.room(needed) == needed;
}

z3::check_result Meter::check(z3::solver& solver, const z3::expr_vector& assumptions) const {
  if (exhausted() || !has_room_to_solve()) return z3::unknown;
  z3::params params(*context_);
  params.set("ctrl_c", false);  // Z3 would replace the signal handler of the program
  if (limits_.work) {
    const std::uint64_t left = *limits_.work - std::min(work(), *limits_.work);
    params.set("rlimit", limit(left));
  }
  solver.set(params);
  try {
    return solver.check(assumptions);
  } catch (const z3::exception&) {
    if (exhausted()) return z3::unknown;
    throw;
  }
}

}  // namespace p2::z3_encoding
