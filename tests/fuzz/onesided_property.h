#pragma once

#include <chrono>
#include <string>

#include "engine/onesided/judge.h"
#include "engine/onesided/plan.h"
#include "engine/onesided/text_plan.h"
#include "tests/fuzz/property.h"

namespace p2 {

/// A plan of either format is judged, always in the same way; a JSON plan is read back from what is
/// written of it. Returns whether `text` is a plan.
inline bool check_onesided_text(const std::string& text) {
  Limits limits;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  limits.memory_bytes = std::size_t{1} << 30U;
  const auto kept = [](const onesided::PlanDecision& decision) {
    promise((decision.outcome == Outcome::Refuted) == decision.violation.has_value(),
            "a verdict does not go with its violation");
    promise(!decision.violation || !decision.violation->reason.empty(),
            "a violation without a reason");
    promise((decision.outcome == Outcome::Undecided) == !decision.open.empty(),
            "an open question without a name");
  };
  try {
    if (onesided::is_text_plan(text)) {
      const auto decision = accepted([&] {
        return onesided::judge(onesided::read_text_plan(kFuzzedSource, text), kFuzzedSource,
                               limits);
      });
      if (decision) kept(*decision);
      return decision.has_value();
    }
    const auto read = accepted([&] { return onesided::read_plan(kFuzzedSource, text); });
    if (!read) return false;
    const auto* const plan = std::get_if<onesided::Plan>(&*read);
    if (plan == nullptr) return true;
    const std::string written = onesided::to_json(*plan);
    const auto again = read_back("a plan", [&] { return onesided::read_plan("again", written); });
    const auto* const same = std::get_if<onesided::Plan>(&again);
    promise(same != nullptr && onesided::to_json(*same) == written,
            "a plan changes on its way through JSON: " + written);
    kept(onesided::judge(*plan, kFuzzedSource, limits));
  } catch (const LimitReached&) {  // no verdict
  }
  return true;
}

}  // namespace p2
