#pragma once

#include <iosfwd>
#include <vector>

#include "cli/prove/prove_schedules.h"
#include "proofs/claims/written_certificate.h"

namespace p2 {

/// One line per result, then a table by claim, pair of hierarchies, dialect and number of axes.
void print_text(const std::vector<claims::Result>& results, const claims::Request& request,
                const claims::ResultCertificates& certificates, std::ostream& out);
/// `schedules` stand beside them, if there are any.
void print_json(const std::vector<claims::Result>& results, const claims::Request& request,
                const claims::ResultCertificates& certificates,
                const std::vector<claims::ScheduleResult>& schedules, std::ostream& out);

/// The claims of the registry.
void print_registry_text(std::ostream& out);
void print_registry_json(std::ostream& out);

}  // namespace p2
