#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/reshard/plans/plan.h"
#include "p2/json.h"
#include "p2/result.h"

namespace p2::reshard {

/// The rules for plans, in the order in which they are checked.
enum class PlanRule : std::uint8_t {
  Bounds,     ///< an operation has no elements, or some outside its buffer
  Match,      ///< a send and its receive have different boxes, or one of them is missing
  Deadlock,   ///< devices wait for each other in a cycle, if a send waits for its receive
  Overwrite,  ///< a receive races with another operation of the same step
  NotHeld,    ///< a send of an element that its buffer does not hold yet
  Missing     ///< a device never receives one of its elements
};
/// `out-of-bounds`, `unmatched`, `deadlock`, `overwritten`, `not-held`, `missing`.
std::string_view to_string(PlanRule rule);

/// Identifies an operation. Numbers count from 0.
struct OperationPlace {
  std::uint32_t device = 0;
  std::size_t step = 0;
  std::size_t index = 0;

  bool operator==(const OperationPlace&) const = default;
};

struct PlanFault {
  PlanRule rule = PlanRule::Bounds;
  /// The operation, of the first step that has one; for Overwrite a receive; for Deadlock the first
  /// operation of the cycle; for Missing only the device is meaningful.
  OperationPlace place;
  std::vector<OperationPlace> others;  ///< Overwrite: the second; Deadlock: the rest of the cycle
  Box box;                             ///< the elements concerned; none for Deadlock
  std::string explanation;             ///< one paragraph
};

struct PlanDecision : Decision<PlanFault> {
  /// Whether all devices complete their programs if a send waits for its receive, and if it does
  /// not. Meaningful only if no rule before Deadlock is broken.
  bool completes_rendezvous = false;
  bool completes_buffered = false;
  /// Elements that devices of the destination receive more than once.
  std::int64_t received_twice = 0;
};

/// Whether every device of the destination ends with exactly its elements, in whatever order the
/// operations of a step are done: each has been received from a device that had it. Computes with
/// boxes, never with single elements.
PlanDecision judge(const Plan& plan);

/// The matching send of every receive and receive of every send, by device, step and index; empty
/// where there is none.
using Partners = std::vector<std::vector<std::vector<std::optional<OperationPlace>>>>;
Partners partners_of(const Plan& plan);

/// A plan as a value of the format `reshard-plan/1`, to be embedded in a larger document; to_json()
/// writes the file.
Json plan_json(const Plan& plan);

/// A fault: rule, device, step and operation (from 1), the other operations, the elements.
Json fault_json(const PlanFault& fault);

/// A table of the devices with their regions and the operations of their steps: `>5` sends to
/// device 5, `<5` receives from it. Limited to the first devices and steps; ends with a newline.
std::string draw(const Plan& plan);

}  // namespace p2::reshard
