#pragma once

#include "engine/reshard/plans/plan_maker.h"
#include "engine/reshard/unit_task.h"

namespace p2::reshard {

/// A time in elements over one link of a host: time / parts.
struct FormulaTime {
  std::int64_t time = 0;
  std::int64_t parts = 1;
};

/// How long the unit tasks take by the formulas of section 3.1, on hosts that send and receive one
/// element per unit of time, while all that stays inside a host takes none. A piece that takes t to
/// one host, for A hosts with n devices in all:
///
/// | sendrecv | n·t |
/// | local-allgather | A·t |
/// | global-allgather | 2·t; t for one host |
/// | broadcast | (K+A−1)/K·t; the paper prints (K+A)/K·t |
///
/// Copies that a device makes of its own take no time. A task takes its sender and all its
/// receivers for the sum of its pieces; tasks start in the order of `schedule`, as soon as they
/// can.
FormulaTime time_by_formula(const Reshard& problem, const UnitTasks& tasks,
                            const PlanChoice& choice, const TaskSchedule& schedule);

}  // namespace p2::reshard
