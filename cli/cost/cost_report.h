#pragma once

#include <iosfwd>
#include <string>

#include "cli/cost/cost_answer.h"

namespace p2 {

/// The ranked programs as an aligned table, what was refused, and which program is the fastest at
/// which size where that was asked.
void print_text(const CostAnswer& answer, const CostRequest& request, std::ostream& out);
/// The same as JSON (docs/cost.md).
void print_json(const CostAnswer& answer, const CostRequest& request, std::ostream& out);

/// The link that a step waits for; `none` where nothing is sent.
std::string bottleneck(const StepCost& step, const CostAnswer& answer);
/// The link that the slowest step of a program waits for; `none` where nothing is sent.
std::string slowest_link(const CostCandidate& candidate, const CostAnswer& answer,
                         const Rational& bytes);

/// How many times faster than the single AllReduce of its own placement or file a program is.
double speedup(const CostCandidate& candidate, const Rational& bytes);
/// Which of the ranked programs is the fastest at which of the sizes asked for.
std::vector<Reign> reigns_of(const CostAnswer& answer, const CostRequest& request);

/// `17.3 ms`: four significant digits.
std::string duration_to_string(double seconds);

}  // namespace p2
