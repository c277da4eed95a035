#include "tests/reshard/instances.h"

#include <algorithm>
#include <numeric>

#include "encodings/cnf/queries.h"
#include "engine/base/invariant.h"
#include "proofs/kernel/certificate.h"

namespace p2 {
namespace {

/// The next choice of senders, as one counts; false after the last.
bool next_choice(const UnitTasks& tasks, std::vector<std::size_t>& choice) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (++choice[i] < tasks[i].sender_hosts.size()) return true;
    choice[i] = 0;
  }
  return false;
}

std::vector<std::uint32_t> random_hosts(std::mt19937_64& random, std::uint32_t hosts) {
  std::vector<std::uint32_t> chosen;
  while (chosen.empty()) {
    for (std::uint32_t host = 0; host < hosts; ++host) {
      if (random() % 5 < 2) chosen.push_back(host);
    }
  }
  return chosen;
}

}  // namespace

ExactSchedule solve(const UnitTasks& tasks, const Limits& limits) {
  ScheduleSearchProgress progress;
  return exact_schedule(tasks, SchedulingProblem(tasks), 1, limits, progress);
}

std::int64_t brute_force(const UnitTasks& tasks) {
  std::int64_t best = INT64_MAX;
  std::vector<std::size_t> choice(tasks.size());
  do {
    std::vector<std::uint32_t> senders;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      senders.push_back(tasks[i].sender_hosts[choice[i]]);
    }
    std::vector<std::size_t> order(tasks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      best = std::min(best, schedule_in_order(tasks, order, senders).makespan);
    } while (std::next_permutation(order.begin(), order.end()));
  } while (next_choice(tasks, choice));
  return best;
}

UnitTasks random_tasks(std::mt19937_64& random, std::size_t most) {
  const auto hosts = static_cast<std::uint32_t>(2 + random() % 3);
  const std::uint64_t longest = 1 + random() % 6;
  UnitTasks tasks;
  for (std::size_t count = 2 + random() % (most - 1); count > 0; --count) {
    const auto size = static_cast<std::int64_t>(1 + random() % longest);
    auto senders = random_hosts(random, hosts);
    tasks.push_back({size, std::move(senders), random_hosts(random, hosts)});
  }
  return tasks;
}

const UnitTasks kSearched{
    {1, {1}, {0, 1, 2}}, {1, {0, 1}, {1}}, {2, {0, 2}, {0}}, {2, {0}, {2}}, {1, {0, 2}, {1}}};

CertificateFiles by_clauses(const UnitTasks& tasks, const TaskSchedule& schedule) {
  auto shorter = cnf::refute_shorter_schedule(tasks, schedule.makespan, {});
  invariant(shorter.outcome == Outcome::Established, "no schedule is shorter than the optimum");
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
  if (!least) return !find_violation(schedule, tasks) && optimum == schedule.makespan;
  // A schedule with a gap may end before the makespan that is said.
  const bool in_time = last <= schedule.makespan;
  schedule.makespan = last;
  return in_time && !find_violation(schedule, tasks) && optimum >= *least;
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
