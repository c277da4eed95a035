#pragma once

#include <algorithm>

#include "p2/answer.h"

namespace p2 {

/// The exit code that a report in SARIF names, the one with which the command ends: 4 engines
/// disagree, 5 tool failure, 2 bad input, 1 refuted, 3 undecided, 0.
inline int report_exit_code(const Answer& answer) {
  using Kind = Diagnostic::Kind;
  const auto has = [&](Kind kind) {
    return std::ranges::find(answer.diagnostics, kind, &Diagnostic::kind) !=
           answer.diagnostics.end();
  };
  if (answer.outcome == Outcome::Disagreement) return 4;
  if (has(Kind::ToolFailure)) return 5;
  if (has(Kind::BadInput)) return 2;
  if (answer.outcome == Outcome::Refuted) return 1;
  return answer.outcome == Outcome::Undecided || has(Kind::Undecided) ? 3 : 0;
}

}  // namespace p2
