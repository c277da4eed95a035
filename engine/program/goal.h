#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/collective/collective_set.h"

namespace p2 {

/// The goals that have a name of their own.
constexpr std::string_view kGoals =
    "allreduce, reducescatter, allgather, reduce, broadcast or alltoall";

/// What programs are for: every reduction class is to end as if one collective had run on the whole
/// class, once, from where the class begins. AllReduce, the paper's goal, unless said otherwise. A
/// class of one device is to end as it begins.
struct Goal {
  std::string name = "allreduce";  ///< one of kGoals or, for a user's, the name of its collective
  CollectiveSet collectives = {};  ///< to which `collective` belongs
  Collective collective = Collective::AllReduce;

  /// The goal that a user's definition stands for.
  static Goal of(const language::Definition& definition);

  bool is_allreduce() const { return collective == Collective::AllReduce; }
  const language::Definition& definition() const { return collectives.definition_of(collective); }
};

/// One of kGoals.
std::optional<Goal> goal_called(std::string_view name);

/// What programs may use and what they are for.
struct Terms {
  CollectiveSet collectives = {};
  Goal goal = {};

  /// The paper's: its five collectives, and AllReduce as goal.
  bool of_paper() const { return !collectives.extended() && goal.is_allreduce(); }
};

}  // namespace p2
