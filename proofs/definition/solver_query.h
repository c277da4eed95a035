#pragma once

#include <optional>

#include <z3++.h>

#include "encodings/z3/group_rows.h"
#include "engine/collective/language/group_state.h"
#include "p2/limits.h"

namespace p2::definition {

/// What Z3 says of the question whether a state satisfies a condition.
struct Answer {
  bool decided = false;  ///< false where a limit was met
  std::optional<language::GroupState> state;
};

/// A state, as values of the symbols `rows`, in which `condition` holds. With `smallest` one that
/// holds the fewest contributions, or the fewest found before a limit was met.
Answer find_state(z3::context& context, const z3_encoding::GroupRows& rows,
                  const z3::expr& condition, const Limits& limits, bool smallest);

/// Whether Z3 proves the claim; false where it cannot, or a limit was met.
bool prove(z3::context& context, const z3::expr& claim, const Limits& limits);

}  // namespace p2::definition
