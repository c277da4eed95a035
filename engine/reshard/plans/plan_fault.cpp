#include "engine/reshard/plans/plan_fault.h"

#include <fmt/format.h>

namespace p2::reshard {

std::string_view to_string(PlanRule rule) {
  switch (rule) {
    case PlanRule::Bounds:
      return "out-of-bounds";
    case PlanRule::Match:
      return "unmatched";
    case PlanRule::Deadlock:
      return "deadlock";
    case PlanRule::Overwrite:
      return "overwritten";
    case PlanRule::NotHeld:
      return "not-held";
    case PlanRule::Missing:
      break;
  }
  return "missing";
}

std::string in_words(const OperationPlace& place, const Operation& each) {
  return fmt::format("In step {}, device {} {} device {} elements {}", place.step + 1, place.device,
                     each.sends ? "sends to" : "receives from", each.peer, to_string(each.box));
}

std::string when_received(const DeviceProgram& program, const Box& box) {
  for (std::size_t step = 0; step < program.size(); ++step) {
    for (const Operation& each : program[step]) {
      if (each.sends || !overlap(each.box, box)) continue;
      return fmt::format("receives {} of them from device {} only in step {}",
                         to_string(common(each.box, box)), each.peer, step + 1);
    }
  }
  return "never receives them";
}

}  // namespace p2::reshard
