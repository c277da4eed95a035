#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/onesided/judge.h"
#include "engine/onesided/plan.h"
#include "p2/limits.h"

namespace p2::onesided {

/// Changes that make a refuted plan valid; leaving out any one of them does not.
struct Repair {
  std::vector<std::string> changes;  ///< `make gpu 1 tb 0 op 3 (rlxsignal) a signal`
  std::string text;                  ///< the repaired plan, in the format that it was read in
};

/// Searches among orders made release and acquire, threads made to meet, flushes and a second half
/// of scratch: first all changes of the fewest kinds that make the plan valid, then as few of them
/// as possible by leaving out half, a quarter, … (Zeller and Hildebrandt, "Simplifying and
/// isolating failure-inducing input", TSE 28(2), 2002). Every plan on the way is judged. Nothing
/// where no such changes help. Throws LimitReached.
std::optional<Repair> find_repair(const Plan& plan, const std::string& source,
                                  const Limits& limits);
std::optional<Repair> find_text_repair(const std::string& text, const std::string& source,
                                       const Limits& limits);

}  // namespace p2::onesided
