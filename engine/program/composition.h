#pragma once

#include <optional>

#include "engine/program/program.h"

namespace p2 {

/// A program in which built-in collectives stand for user-defined ones.
struct BuiltInProgram {
  Program program;  ///< without user-defined collectives, unless one is `missing`
  /// Index of the first step of the other program for which nothing stands.
  std::optional<std::size_t> missing;
};

/// Puts in the place of every step of a user-defined collective the shortest sequence of at most
/// three built-in collectives on the same groups that leaves every device in the same state, of
/// equal ones the first in the order of kCollectives. Which sequence that is depends on the state
/// in which the step is taken: nothing is taken for granted about the definition. A step for which
/// there is none, or which is refused or follows one that is, stays as it is. With `keep_traffic`
/// so does one whose definition states its traffic: it has a price of its own.
BuiltInProgram built_in_program(const Program& program, bool keep_traffic = false);

}  // namespace p2
