#include "tests/reshard/schedule_certificates.h"

#include "encodings/cnf/shorter_schedule.h"
#include "engine/base/invariant.h"
#include "proofs/kernel/certificate.h"

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

CertificateFiles gap_certificate(const UnitTasks& tasks, const TaskSchedule& schedule) {
  const SchedulingProblem problem(tasks);
  const LowerBound bound = lower_bound(PartialSchedule(problem), problem);
  return schedule_certificate(tasks, problem, schedule, bound, {});
}

std::string claim_of(const CertificateFiles& files) {
  const auto bound = files.find("bound.json");
  if (bound == files.end()) return "reshard-schedule-clauses";
  return bound->second.find("least") == std::string::npos ? "reshard-schedule"
                                                          : "reshard-schedule-gap";
}

kernel::Verdict after(CertificateFiles files, const std::string& name,
                      const std::function<void(nlohmann::json&)>& change) {
  auto json = nlohmann::json::parse(files[name]);
  change(json);
  files[name] = json.dump();
  add_manifest(claim_of(files), {}, files);
  return check_certificate(files).verdict;
}

bool is_true(const nlohmann::json& said, std::optional<std::int64_t> least) {
  UnitTasks tasks;
  TaskSchedule schedule{{}, said["makespan"]};
  std::int64_t last = 0;
  for (const nlohmann::json& task : said["tasks"]) {
    schedule.runs.push_back({tasks.size(), task["sender"], task["start"]});
    tasks.push_back({task["size"], task["sender_hosts"], task["receiver_hosts"]});
    if (tasks.back().size == 0) return true;  // the engine has no such tasks
    last = std::max(last, schedule.runs.back().start + tasks.back().size);
  }
  const std::int64_t optimum = solve(tasks).schedule.makespan;
  if (!least) return !mistake_in(schedule, tasks) && optimum == schedule.makespan;
  // A schedule with a gap may end before the makespan that is said.
  const bool in_time = last <= schedule.makespan;
  schedule.makespan = last;
  return in_time && !mistake_in(schedule, tasks) && optimum >= *least;
}

std::vector<std::function<void(nlohmann::json&)>> changes_by_one(const nlohmann::json& said) {
  std::vector<std::function<void(nlohmann::json&)>> changes;
  for (const int change : {-1, 1}) {
    changes.emplace_back(
        [=](nlohmann::json& json) { json["makespan"] = json["makespan"].get<int>() + change; });
    for (std::size_t i = 0; i < said["tasks"].size(); ++i) {
      for (const char* key : {"size", "sender", "start"}) {
        if (said["tasks"][i][key].get<int>() + change < 0) continue;
        changes.emplace_back([=](nlohmann::json& json) {
          json["tasks"][i][key] = json["tasks"][i][key].get<int>() + change;
        });
      }
      for (const char* key : {"sender_hosts", "receiver_hosts"}) {
        for (std::size_t h = 0; h < said["tasks"][i][key].size(); ++h) {
          if (said["tasks"][i][key][h].get<int>() + change < 0) continue;
          changes.emplace_back([=](nlohmann::json& json) {
            json["tasks"][i][key][h] = json["tasks"][i][key][h].get<int>() + change;
          });
        }
      }
    }
  }
  return changes;
}

}  // namespace p2
