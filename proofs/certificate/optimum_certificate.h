#pragma once

#include <optional>

#include "encodings/cnf/drat_to_lrat.h"
#include "encodings/cnf/queries.h"
#include "engine/pipeline/schedule.h"
#include "engine/reshard/scheduling_problem.h"
#include "engine/reshard/sharding.h"
#include "engine/strategy/strategy.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

// All throw LimitReached where p2-check would not read the certificate.

/// A certificate of the claim `reshard-schedule`: no schedule of the tasks is shorter than this
/// one, whose makespan is `bound`. Where it is longer, of the claim `reshard-schedule-gap`: this is
/// a schedule, and none is shorter than `bound`.
CertificateFiles schedule_certificate(const UnitTasks& tasks, const SchedulingProblem& problem,
                                      const TaskSchedule& schedule, const LowerBound& bound,
                                      const Provenance& provenance);

/// A certificate of the claim `reshard-schedule-clauses`: the same, by a refutation of clauses.
CertificateFiles schedule_certificate(const UnitTasks& tasks, const TaskSchedule& schedule,
                                      cnf::ClauseProof proof, const Provenance& provenance);

/// A certificate of the claim `pipeline-memory`: no pipeline with this makespan holds fewer
/// activations on any stage, whatever it holds on the others. Requires that the stages' minima are
/// compatible (`each` equals `peaks`).
CertificateFiles pipeline_certificate(PipelineSize size, const PipelineTimes& times,
                                      const LeastMemory& least, const Provenance& provenance);

// Those of strategies throw LimitReached where a file would be larger, or checking it would take
// more work, than p2-check allows.

/// A certificate of the claim `strategy-optimal`: no strategy of the graph costs less than the one
/// of `answer`, which is optimal.
CertificateFiles strategy_certificate(const strategy::Graph& graph,
                                      const strategy::Solution& answer,
                                      const Provenance& provenance);

/// A certificate of the claim `strategy-optimal-clauses`: the same, by a refutation of clauses.
CertificateFiles strategy_certificate(const strategy::Graph& graph, const strategy::Found& found,
                                      const cnf::StrategyRefutation& refutation,
                                      const Provenance& provenance);

}  // namespace p2
