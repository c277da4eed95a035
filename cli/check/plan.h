#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/certificate_writing.h"
#include "cli/check/request.h"
#include "proofs/api/finding.h"
#include "engine/reshard/plans/plan_fault.h"

namespace p2 {

/// What is known of one plan of a resharding after `check`.
struct PlanResult {
  std::string file;
  reshard::Plan plan;
  reshard::PlanVerdict verdict;
  Findings findings;  ///< rules only: of several places that break one, engines may name any
  std::string certificate;
};

/// Throws InputError for a mistake in the file, and where what was asked is for programs of
/// collectives only.
PlanResult check_plan(const std::string& file, const std::string& text,
                      const CheckRequest& request);

/// Writes the certificate of file number `index`. Returns the trouble where it cannot be written.
std::optional<WritingTrouble> certify(PlanResult& result, const CheckRequest& request,
                                      std::size_t index);

/// What the engines say of a plan on which the explicit one gave `verdict`.
Findings ask(const Engines& engines, const reshard::Plan& plan, const reshard::PlanVerdict& verdict,
             const Limits& limits);

/// One object of `results` (cli contract: check).
std::string to_json(const PlanResult& result);
std::string to_text(const PlanResult& result, bool explain);

}  // namespace p2
