#pragma once

#include "p2/limits.h"
#include "engine/reshard/list_scheduling.h"

namespace p2 {

/// Looks for a schedule shorter than `most`, in the order in which tasks start. Of all partial
/// schedules with as many tasks started only the most promising are gone on with: those that leave
/// hosts and cliques with the least that they could hardly do by `enough`. Again and again with
/// more of them, until a makespan of `enough`, a number of tries that grows with the number of
/// tasks, or the deadline. Nothing where it finds none.
StartSequence beam_search(const SchedulingProblem& problem, std::int64_t most, std::int64_t enough,
                          const Limits& limits);

}  // namespace p2
