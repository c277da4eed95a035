#pragma once

#include <string>

#include "proofs/kernel/verdict.h"

namespace p2::kernel {

/// The claims `reshard-schedule` and `reshard-schedule-clauses`: schedule.json is a schedule of the
/// unit tasks in problem.json, and none is shorter. By bound.json, where there is one: tasks of
/// which no two can ever run at once, or with no other senders than some. Otherwise by proof.lrat
/// on clauses that this checker makes itself. Returns that in words, or objects.
std::string judge_schedule(const Files& files);

}  // namespace p2::kernel
