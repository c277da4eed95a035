#pragma once

#include <utility>

#include "engine/reshard/unit_task.h"

namespace p2::claims {

// What section 3.2 of "On Optimizing the Communication of Model Parallelism" says of unit tasks, as
// it is printed. For few tasks: all of it takes exponential time.

/// Eq. 4: the least that the sender with the most to send can have to send.
std::int64_t least_load(const UnitTasks& tasks);

/// What the greedy makes of that: longest tasks first, each to the sender of its own with the least
/// to send. Where there are several such tasks or senders, whatever is best in the end.
std::int64_t greedy_load(const UnitTasks& tasks);

/// The most that one host receives.
std::int64_t receiver_load(const UnitTasks& tasks);

/// The bound by which the depth-first search leaves branches: tasks that are left go to senders by
/// the greedy, on top of what these have to do, ties as is best in the end; and to their receivers.
/// The first of two numbers is this bound in the branch where it is the
/// most above the second, when all tasks can be done by.
std::pair<std::int64_t, std::int64_t> depth_first_bound(const UnitTasks& tasks);

}  // namespace p2::claims
