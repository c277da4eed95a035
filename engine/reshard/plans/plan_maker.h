#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/reshard/plans/plan_pieces.h"
#include "engine/reshard/task_schedule.h"

namespace p2::reshard {

/// How a slice gets from a device to others (section 3.1, figure 3).
enum class PlanStrategy : std::uint8_t {
  SendRecv,         ///< to one after the other
  LocalAllGather,   ///< to every host once, in parts that its devices then gather
  GlobalAllGather,  ///< once, in parts that all devices then gather
  Broadcast         ///< in chunks along a chain of all devices, host by host
};

/// `sendrecv`, `local-allgather`, `global-allgather`, `broadcast`.
std::string_view to_string(PlanStrategy strategy);

struct PlanChoice {
  PlanStrategy strategy = PlanStrategy::SendRecv;
  Decomposition decomposition = Decomposition::Intersection;
  std::int64_t chunks = 1;  ///< of a broadcast; a piece of fewer elements has as many as elements
};

/// The programs that send the unit tasks in the order in which `schedule`, one of the tasks of
/// decompose(), starts them. Of the devices of the sender's host that hold a piece, the one that
/// has sent the least so far sends it. A receiver that holds a piece itself copies it: it sends it
/// to itself. Throws std::length_error beyond kMostOperations.
Plan make_plan(const Reshard& problem, const PlanChoice& choice, const TaskSchedule& schedule);

}  // namespace p2::reshard
