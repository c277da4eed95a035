#include "engine/reshard/plans/plan_formula.h"

#include <algorithm>
#include <set>

namespace p2::reshard {
namespace {

/// In 1/chunks of the time for an element.
std::int64_t time_of(const Piece& piece, const Reshard& problem, const PlanChoice& choice) {
  const std::int64_t t = piece.box.elements();
  std::set<std::uint32_t> hosts;
  std::int64_t devices = 0;
  for (const std::uint32_t device : piece.receivers) {
    if (std::find(piece.holders.begin(), piece.holders.end(), device) != piece.holders.end()) {
      continue;
    }
    hosts.insert(problem.hosts[device]);
    ++devices;
  }
  const auto a = static_cast<std::int64_t>(hosts.size());
  switch (choice.strategy) {
    case PlanStrategy::SendRecv:
      return devices * t;
    case PlanStrategy::LocalAllGather:
      return a * t;
    case PlanStrategy::GlobalAllGather:
      return std::min<std::int64_t>(a, 2) * t;
    case PlanStrategy::Broadcast:
      break;
  }
  return a == 0 ? 0 : (choice.chunks + a - 1) * t;
}

}  // namespace

FormulaTime time_by_formula(const Reshard& problem, const UnitTasks& tasks,
                            const PlanChoice& choice, const TaskSchedule& schedule) {
  UnitTasks timed = tasks;
  for (UnitTask& task : timed) task.size = 0;
  for (const Piece& piece : pieces_of(problem, choice.decomposition)) {
    timed[piece.task].size += time_of(piece, problem, choice);
  }
  std::vector<std::size_t> order;
  std::vector<std::uint32_t> senders(tasks.size(), 0);
  for (const TaskRun& run : schedule.runs) {
    order.push_back(run.task);
    senders[run.task] = run.sender;
  }
  return {schedule_in_order(timed, order, senders).makespan,
          choice.strategy == PlanStrategy::Broadcast ? choice.chunks : 1};
}

}  // namespace p2::reshard
