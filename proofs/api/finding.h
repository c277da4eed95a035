#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "engine/program/derivation.h"

namespace p2 {

/// What one engine says of one program.
struct Finding {
  std::string verdict = "unknown";  ///< `valid`, `invalid` or `unknown`
  /// Of an invalid program: the step that is refused, from 1, or the number of steps if the goal is
  /// missed; and the rule that refuses, named as rule_name names it. Of an unknown one: how many
  /// steps are known to be legal, and why, where it is no limit that was given.
  std::size_t step = 0;
  std::string rule;

  bool operator==(const Finding&) const = default;
};

/// By engine.
using Findings = std::map<std::string, Finding>;

Finding finding_of(const Verdict& verdict);

/// Whether two engines that decided found different things: verdicts, or steps or rules that
/// refuse.
bool disagree(const Findings& findings);

/// `valid`, `unknown after 1 legal step`, or `invalid at step 2 by disjoint`.
std::string to_string(const Finding& finding);
std::string to_json(const Finding& finding);

}  // namespace p2
