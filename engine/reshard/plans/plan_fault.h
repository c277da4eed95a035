#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/reshard/plans/plan.h"

namespace p2::reshard {

/// What a plan may do wrong. The first of these rules that it breaks anywhere is its fault.
enum class PlanRule : std::uint8_t {
  Bounds,     ///< an operation on no elements, or on some that its buffer has no place for
  Match,      ///< a send and the receive that it is for differ, or one of them is not there
  Deadlock,   ///< devices that wait for each other for ever, where a send waits for its receive
  Overwrite,  ///< a receive writes what another operation of the same step reads or writes
  NotHeld,    ///< a send of an element that its buffer does not have by then
  Missing     ///< an element that a device is to end with and never receives
};
/// `out-of-bounds`, `unmatched`, `deadlock`, `overwritten`, `not-held`, `missing`.
std::string_view to_string(PlanRule rule);

/// Where an operation stands. Numbers count from 0.
struct OperationPlace {
  std::uint32_t device = 0;
  std::size_t step = 0;
  std::size_t index = 0;

  bool operator==(const OperationPlace&) const = default;
};

/// `In step 2, device 1 sends to device 2 elements [0:4]`
std::string in_words(const OperationPlace& place, const Operation& each);

/// When a device receives the first of these elements, if it ever does, in words that follow `it`.
std::string when_received(const DeviceProgram& program, const Box& box);

struct PlanFault {
  PlanRule rule = PlanRule::Bounds;
  /// The operation, of the first step that has one; for Overwrite a receive; for Deadlock the first
  /// of the operations that wait; for Missing only the device counts.
  OperationPlace place;
  std::vector<OperationPlace> others;  ///< Overwrite: the second; Deadlock: those that it waits for
  Box box;                             ///< the elements it is about; none for Deadlock
  std::string explanation;             ///< one paragraph
};

struct PlanVerdict {
  std::optional<PlanFault> fault;  ///< nothing: the plan is right
  /// Whether all devices come to their end where a send waits for its receive, and where it does
  /// not. Known only if no fault comes before Deadlock.
  bool completes = false;
  bool completes_buffered = false;
  /// Elements that devices of the destination receive without need, because they have them already.
  std::int64_t received_twice = 0;
};

/// Whether every device of the destination ends with exactly its elements, whatever the operations
/// of a step do first: each has been received from a device that had it. Looks at boxes, never at
/// single elements.
PlanVerdict judge(const Plan& plan);

/// The send of every receive and the other way round, by device, step and index; nothing where
/// there is none.
using Partners = std::vector<std::vector<std::vector<std::optional<OperationPlace>>>>;
Partners partners_of(const Plan& plan);

/// How many steps every device completes before nothing more can happen.
std::vector<std::size_t> completed_steps(const Plan& plan, const Partners& partners, bool buffered);

}  // namespace p2::reshard
