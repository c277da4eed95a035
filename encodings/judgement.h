#pragma once

#include <cstddef>
#include <string>

#include "engine/base/verdict_kind.h"

namespace p2 {

/// What a solver says of a program.
struct Judgement {
  using Kind = VerdictKind;

  Kind kind = Kind::Unknown;
  std::size_t legal_steps = 0;
  /// Of an invalid program: the step that is refused, from 1, or the number of steps if all are
  /// legal and the goal is missed; and the rule that refuses, named as rule_name names it.
  /// Of an unknown one why it is, where no limit was met.
  std::size_t step = 0;
  std::string rule;
};

/// What a solver says of a plan of a resharding.
struct PlanJudgement {
  bool known = false;
  std::string rule;  ///< the first that is broken, as reshard::to_string names it; empty: right
};

}  // namespace p2
