#pragma once

#include <iosfwd>
#include <utility>
#include <vector>

#include "proofs/claims/schedule_claim.h"

namespace p2::claims {

using ScheduleResult = std::pair<const ScheduleClaim*, ScheduleAnswer>;

/// Writes, in Markdown, what was found of statements about resharding and pipelines, and of each
/// false one the smallest counterexample, as an input that p2-verify takes.
void write_schedule_errata(const std::vector<ScheduleResult>& results, std::ostream& out);

}  // namespace p2::claims
