#include "cli/meshes/reshard_certificate.h"

#include <ostream>
#include <stdexcept>

#include <fmt/format.h>

#include "cli/certificate_writing.h"
#include "encodings/cnf/shorter_schedule.h"
#include "encodings/cnf/synthesis.h"
#include "engine/base/invariant.h"
#include "proofs/certificate/schedule_certificate.h"
#include "p2/version.h"

namespace p2 {
namespace {

using Kind = cnf::ShorterSchedule::Kind;

constexpr std::uint64_t kMostConflicts = 2'000'000;  // unless told otherwise

/// By the bound of all schedules where that says as much as the answer, else by clauses.
CertificateFiles certificate_of(const ReshardRequest& request, const SchedulingProblem& problem,
                                const ReshardAnswer& answer) {
  const UnitTasks& tasks = request.tasks;
  Provenance provenance{{{"p2-verify", build_info().version}},
                        {{"strategy", std::string(to_string(request.strategy))}},
                        request.common.seed};
  const std::int64_t makespan = answer.schedule.makespan;
  if (answer.lower_bound == answer.bound.value) {
    return schedule_certificate(tasks, problem, answer.schedule, answer.bound, provenance);
  }
  if (!answer.optimal()) {
    throw std::length_error(fmt::format(
        "the lower bound of {} is what a search found before it ended, and without a certificate",
        answer.lower_bound));
  }
  Limits limits = request.common.limits;
  if (!limits.work) limits.work = kMostConflicts;
  cnf::ShorterSchedule shorter = cnf::shorter_schedule(tasks, makespan, limits);
  invariant(shorter.kind != Kind::Exists, "a schedule is shorter than what the search proved");
  if (shorter.kind == Kind::Unknown) {
    throw std::length_error("no refutation of a shorter schedule within the limits");
  }
  provenance.tools["CaDiCaL"] = cnf::solver_version();
  return schedule_certificate(tasks, answer.schedule, std::move(shorter.proof), provenance);
}

}  // namespace

ExitCode certify_schedule(const ReshardRequest& request, const SchedulingProblem& problem,
                          ReshardAnswer& answer, std::ostream& err) {
  if (!request.certify) return kEstablished;
  const auto write = [&] {
    write_folder(*request.certify, certificate_of(request, problem, answer));
    answer.certificate = request.certify;
  };
  return code_of_writing(*request.certify, write, err);
}

}  // namespace p2
