#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "engine/reshard/partial_schedule.h"

namespace p2 {

/// What a search has been through: for each number of tasks left, by class, the times at which
/// hosts became free, as far as none is worse than another.
class ExploredStates {
 public:
  /// Ends up to `harmless` are all alike: no schedule is shorter.
  ExploredStates(const SchedulingProblem& problem, std::int64_t harmless, std::size_t most_bytes)
      : problem_(problem), harmless_(harmless), most_bytes_(most_bytes) {}

  /// Whether a state that was added before has the same tasks left and every host free no later,
  /// but for an exchange of senders that the same tasks can take: then nothing better follows from
  /// this one. If not, adds it, as long as there is room.
  bool covers_or_add(const PartialSchedule& state);

 private:
  using Times = std::vector<std::int64_t>;

  Times times_of(const PartialSchedule& state) const;

  const SchedulingProblem& problem_;
  const std::int64_t harmless_;
  const std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::string, std::vector<Times>> seen_;
};

}  // namespace p2
