#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/limit_watch.h"
#include "engine/onesided/judge.h"
#include "engine/onesided/unrolling.h"

namespace p2::onesided {

struct ExplorerOptions {
  /// Interleave all steps. Otherwise only steps that do not commute are run in all orders: signals
  /// and waits of counters that several signal, or wait on.
  bool all_interleavings = false;
  std::uint64_t max_states = 200'000;
};

/// An independent engine for small plans: executes an unrolling step by step, in all interleavings,
/// and detects races as it goes (Flanagan and Freund, "FastTrack: efficient and precise dynamic
/// race detection", PLDI 2009, with sets of operations instead of clocks). It shares no order with
/// Ordering: what an operation has seen is passed on by meets, signals, flushes and launches.
///
/// Decides about the launches of the unrolling alone: undecided (`surplus`) where a counter gets
/// more signals than it is waited for, and (`limit`) beyond max_states. Throws LimitReached.
UnrollingDecision explore(const Unrolling& unrolling, const ExplorerOptions& options,
                          LimitWatch& watch);

}  // namespace p2::onesided
