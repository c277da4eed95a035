#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "proofs/certificate/schedule_certificate.h"
#include "proofs/kernel/verdict.h"
#include "tests/reshard/instances.h"

namespace p2 {

/// No argument about hosts is enough for these: the bound is 3 and the optimum 4.
extern const UnitTasks kSearched;

/// The certificate by clauses that no schedule is shorter than this one.
CertificateFiles by_clauses(const UnitTasks& tasks, const TaskSchedule& schedule);

/// The certificate of the shortest schedule, by a bound where there is one.
CertificateFiles certificate(const UnitTasks& tasks);

/// The verdict after `change` was done to one file and the manifest made to fit.
kernel::Verdict after(CertificateFiles files, const std::string& name,
                      const std::function<void(nlohmann::json&)>& change);

}  // namespace p2
