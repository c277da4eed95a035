#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "cli/meshes/reshard_request.h"
#include "engine/reshard/plans/plan_fault.h"
#include "engine/reshard/plans/plan_formula.h"
#include "engine/reshard/price/plan_simulation.h"
#include "engine/reshard/task_schedule.h"

namespace p2 {

/// The plan that was made, and what is known of it.
struct PlanAnswer {
  reshard::Plan plan;
  reshard::PlanVerdict verdict;
  reshard::FormulaTime formula;
  std::optional<reshard::SimulatedTime> simulated;  ///< with --system
  std::string busiest;                              ///< the name of its busiest link
};

/// Makes and judges the plan that sends the tasks as the schedule says, and writes it to the file
/// that was asked for.
PlanAnswer plan_answer(const ReshardRequest& request, const TaskSchedule& schedule,
                       std::ostream& out);

std::string to_text(const PlanAnswer& answer, const ReshardRequest& request);
/// The value of the key `plan`.
std::string to_json(const PlanAnswer& answer, const ReshardRequest& request);

}  // namespace p2
