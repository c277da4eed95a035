#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/reshard/plans/plan_check.h"
#include "p2/answer.h"

namespace p2 {

/// What `check` asks about a plan of a resharding.
struct PlanCheckQuestion {
  /// Options that were given and do not apply to plans, as flags without dashes: an InputError
  /// names the first.
  std::vector<std::string> inapplicable_options = {};
  bool z3 = false;                              ///< asks Z3 as well
  bool cnf = false;                             ///< asks CaDiCaL as well
  bool explain = false;                         ///< adds a table of the devices and their steps
  std::optional<std::string> certificate = {};  ///< the folder for a certificate
};

/// The answer: one result of the engines asked, by name; of several places that break a rule,
/// engines may find any, so they agree if they name the same rule. The document has the lines of
/// `check`, one element of its JSON member `results`, and one report. A certificate that cannot be
/// written is a diagnostic.
struct PlanCheckAnswer : Answer {
  reshard::Plan plan;
  reshard::PlanDecision decision;  ///< of the explicit engine
};

/// Checks the text of a plan in the format `reshard-plan/1`. Throws InputError, naming `file`, if
/// it is none.
PlanCheckAnswer check_plan_file(const std::string& file, const std::string& text,
                                const PlanCheckQuestion& question, const Options& options);

}  // namespace p2
