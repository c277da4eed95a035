#pragma once

#include <optional>

#include "encodings/cnf/clause_proof.h"
#include "engine/reshard/unit_task.h"

namespace p2::cnf {

/// Whether a schedule of unit tasks (Eq. 1–3) is shorter than some time, asked of a SAT solver.
struct ShorterSchedule {
  enum class Kind : std::uint8_t { None, Exists, Unknown };
  Kind kind = Kind::Unknown;
  ClauseProof proof;  ///< that there is none, in the clauses of docs/certificates.md
};

/// `Unknown` where a limit is met, or where there would be more clauses than a checker reads: tasks
/// are long and their sizes add up to very many different times.
ShorterSchedule shorter_schedule(const UnitTasks& tasks, std::int64_t makespan,
                                 const Limits& limits);

}  // namespace p2::cnf
