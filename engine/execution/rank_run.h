#pragma once

#include "engine/execution/rank.h"

namespace p2::execution {

/// What one rank does in a job, the same in every backend: runs that are not timed, runs of which
/// every step is timed from when all ranks have come to it, and one run that starts from fresh
/// inputs and is checked. Every rank of the backend calls it.
RankResult run_rank(Rank& rank, std::uint32_t number, const Job& job, RankProgress& progress);

}  // namespace p2::execution
