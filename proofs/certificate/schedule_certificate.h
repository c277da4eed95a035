#pragma once

#include <optional>

#include "encodings/cnf/clause_proof.h"
#include "engine/reshard/partial_schedule.h"
#include "engine/reshard/task_schedule.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// Both throw std::length_error when p2-check could not read the certificate.

/// The certificate of the claim `reshard-schedule`: that no schedule of the tasks is shorter than
/// this one, whose makespan is `bound`. Where it is longer, of the claim `reshard-schedule-gap`:
/// that this is a schedule, and none is shorter than `bound`.
CertificateFiles schedule_certificate(const UnitTasks& tasks, const SchedulingProblem& problem,
                                      const TaskSchedule& schedule, const LowerBound& bound,
                                      const Provenance& provenance);

/// The certificate of the claim `reshard-schedule-clauses`, which is the same, by a refutation.
CertificateFiles schedule_certificate(const UnitTasks& tasks, const TaskSchedule& schedule,
                                      cnf::ClauseProof proof, const Provenance& provenance);

}  // namespace p2
