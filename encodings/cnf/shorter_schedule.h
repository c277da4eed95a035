#pragma once

#include "encodings/cnf/drat_to_lrat.h"
#include "engine/reshard/unit_task.h"
#include "p2/result.h"

namespace p2::cnf {

/// A SAT solver's answer to: no schedule of the unit tasks (Eq. 1–3) is shorter than `makespan`.
struct ScheduleRefutation {
  Outcome outcome = Outcome::Undecided;
  ClauseProof proof;  ///< where established, over the clauses of docs/certificates.md
};

/// Time-indexed order encoding (Tamura et al., "Compiling finite linear CSP into SAT", 2009).
/// Undecided at a limit, or where p2-check would not read that many clauses: sums of sizes take too
/// many values.
ScheduleRefutation refute_shorter_schedule(const UnitTasks& tasks, std::int64_t makespan,
                                           const Limits& limits);

}  // namespace p2::cnf
