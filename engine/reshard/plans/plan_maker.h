#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/reshard/sharding.h"
#include "engine/reshard/plans/plan.h"
#include "engine/reshard/unit_task.h"
#include "p2/reshard.h"

namespace p2::reshard {

using PlanStrategy = TransferStrategy;

/// `sendrecv`, `local-allgather`, `global-allgather`, `broadcast`.
std::string_view to_string(PlanStrategy strategy);

struct PlanChoice {
  PlanStrategy strategy = PlanStrategy::SendRecv;
  Decomposition decomposition = Decomposition::Intersection;
  std::int64_t chunks = 1;  ///< of a broadcast; at most one per element of a piece
};

/// Generates the programs that run the unit tasks in the order in which `schedule`, a schedule of
/// the tasks of decompose(), starts them. A piece is sent by the device of the sender's host that
/// holds it and has sent the fewest elements so far. A receiver that holds a piece itself sends it
/// to itself. Throws LimitReached beyond kMaxOperations.
Plan make_plan(const Reshard& problem, const PlanChoice& choice, const TaskSchedule& schedule);

/// The exact time `time / parts`, in units of one element over one link of a host.
struct FormulaTime {
  std::int64_t time = 0;
  std::int64_t parts = 1;
};

/// The makespan of the unit tasks by the formulas of section 3.1, for hosts that send and receive
/// one element per unit of time; transfers inside a host take no time. For a piece that takes t to
/// one host, and A hosts with n devices in all:
///
/// | sendrecv | n·t |
/// | local-allgather | A·t |
/// | global-allgather | 2·t; t for one host |
/// | broadcast | (K+A−1)/K·t; the paper prints (K+A)/K·t |
///
/// Copies inside a device take no time. A task occupies its sender and all its receivers for the
/// sum of its pieces; tasks start as early as possible in the order of `schedule` (list
/// scheduling).
FormulaTime time_by_formula(const Reshard& problem, const UnitTasks& tasks,
                            const PlanChoice& choice, const TaskSchedule& schedule);

}  // namespace p2::reshard
