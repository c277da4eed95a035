#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/limit_watch.h"
#include "engine/onesided/unrolling.h"

namespace p2::onesided {

/// How one run of a plan failed.
struct RunFailure {
  std::uint64_t seed = 0;
  std::string reason;  ///< `o[1] of rank 0 after launch 0 is wrong`, or what never ends
};

/// Runs a plan once on a memory that is as late as it may be: a seed draws which step comes next;
/// what a block writes stays in its store buffer (Owens, Sarkar and Sewell, "A better x86 memory
/// model: x86-TSO", TPHOLs 2009, here without order) until it is drained at random, by a release, a
/// barrier or the end of the launch; element-wise operations may be put off until the next meet;
/// transfers go on when a launch has ended. Nothing if all outputs are right, and for collectives
/// without a known result if the run ends. It uses no order of Ordering. Throws LimitReached.
std::optional<RunFailure> simulate(const Unrolling& unrolling, std::uint64_t seed,
                                   LimitWatch& watch);

/// The first failure of the runs with seeds 0 … runs − 1.
std::optional<RunFailure> find_failing_run(const Unrolling& unrolling, std::uint64_t runs,
                                           LimitWatch& watch);

}  // namespace p2::onesided
