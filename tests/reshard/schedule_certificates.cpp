#include "tests/reshard/schedule_certificates.h"

#include "encodings/cnf/shorter_schedule.h"
#include "engine/invariant.h"
#include "proofs/check/certificate.h"

namespace p2 {

const UnitTasks kSearched{
    {1, {1}, {0, 1, 2}}, {1, {0, 1}, {1}}, {2, {0, 2}, {0}}, {2, {0}, {2}}, {1, {0, 2}, {1}}};

CertificateFiles by_clauses(const UnitTasks& tasks, const TaskSchedule& schedule) {
  auto shorter = cnf::shorter_schedule(tasks, schedule.makespan, {});
  invariant(shorter.kind == cnf::ShorterSchedule::Kind::None, "an optimum that is none");
  return schedule_certificate(tasks, schedule, std::move(shorter.proof), {});
}

CertificateFiles certificate(const UnitTasks& tasks) {
  const SchedulingProblem problem(tasks);
  const ExactSchedule answer = solve(tasks);
  if (answer.bound.value == answer.schedule.makespan) {
    return schedule_certificate(tasks, problem, answer.schedule, answer.bound, {});
  }
  return by_clauses(tasks, answer.schedule);
}

std::string claim_of(const CertificateFiles& files) {
  return files.contains("bound.json") ? "reshard-schedule" : "reshard-schedule-clauses";
}

kernel::Verdict after(CertificateFiles files, const std::string& name,
                      const std::function<void(nlohmann::json&)>& change) {
  auto json = nlohmann::json::parse(files[name]);
  change(json);
  files[name] = json.dump();
  add_manifest(claim_of(files), {}, files);
  return check_certificate(files).verdict;
}

}  // namespace p2
