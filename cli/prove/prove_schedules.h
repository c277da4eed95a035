#pragma once

#include <iosfwd>

#include "cli/command_line.h"
#include "proofs/claims/schedule_errata.h"

namespace p2 {

/// The claims about resharding and pipelines among those asked for. With --all, all of them, unless
/// a system is named.
std::vector<const claims::ScheduleClaim*> schedule_claims_of(const CommandLine& line);

/// Settles them one after the other; shows on `err` how far it is.
std::vector<claims::ScheduleResult> settle(
    const std::vector<const claims::ScheduleClaim*>& schedules, const CommonOptions& common,
    std::ostream& err);

/// Refuted if `verdict` or one of these is, holds if all do.
claims::Outcome verdict_with(claims::Outcome verdict,
                             const std::vector<claims::ScheduleResult>& results);

void print_schedules_text(const std::vector<claims::ScheduleResult>& results, std::ostream& out);
/// A list of objects.
void print_schedules_json(const std::vector<claims::ScheduleResult>& results, std::ostream& out);
void print_schedule_registry_text(std::ostream& out);
void print_schedule_registry_json(std::ostream& out);

}  // namespace p2
