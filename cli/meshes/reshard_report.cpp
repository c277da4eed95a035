#include "cli/meshes/reshard_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/output.h"
#include "cli/table.h"
#include "engine/base/plot.h"

namespace p2 {
namespace {

constexpr double kPlotWidth = 1000;

std::string hosts_of(const std::vector<std::size_t>& numbers,
                     const std::vector<std::uint32_t>& hosts) {
  std::vector<std::uint32_t> named;
  for (const std::size_t i : numbers) named.push_back(hosts[i]);
  return fmt::format("{} {}", named.size() == 1 ? "host" : "hosts", fmt::join(named, ", "));
}

/// Why no schedule can be shorter than the bound, without any search.
std::string reason(const LowerBound& bound, const SchedulingProblem& problem) {
  if (bound.reason == LowerBound::Reason::Receiver) {
    return fmt::format("host {} receives for {}", problem.receiver_hosts[bound.index], bound.value);
  }
  if (bound.reason == LowerBound::Reason::Senders) {
    const auto& senders = problem.pools[bound.index].senders;
    return fmt::format("{}{} must send for {}", senders.size() == 1 ? "" : "one of ",
                       hosts_of(senders, problem.sender_hosts), bound.value);
  }
  std::vector<std::size_t> tasks;
  for (const std::size_t i : problem.cliques[bound.index]) {
    tasks.insert(tasks.end(), problem.classes[i].tasks.begin(), problem.classes[i].tasks.end());
  }
  std::sort(tasks.begin(), tasks.end());
  return fmt::format("no two of tasks {} can run at once, they take {}", fmt::join(tasks, ", "),
                     bound.value);
}

/// What the makespan and the lower bound rest on.
std::string evidence(const ReshardAnswer& answer, const SchedulingProblem& problem) {
  if (answer.lower_bound == answer.bound.value) return reason(answer.bound, problem);
  return fmt::format(
      "{}a search of {} states found nothing shorter{}",
      answer.certificate ? "" : "solver-only: ", answer.states,
      answer.certificate ? ", and clauses that say there is contradict themselves" : "");
}

std::string verdict(const ReshardAnswer& answer) {
  if (answer.optimal()) return "optimal";
  const auto bound = static_cast<double>(answer.lower_bound);
  const auto gap = static_cast<double>(answer.schedule.makespan - answer.lower_bound) / bound;
  return fmt::format("not shown to be optimal: at least {}, a gap of {:.1f} %", answer.lower_bound,
                     100 * gap);
}

std::string json_task(const UnitTask& task) {
  return fmt::format("{{\"size\":{},\"sender_hosts\":[{}],\"receiver_hosts\":[{}]}}", task.size,
                     fmt::join(task.sender_hosts, ","), fmt::join(task.receiver_hosts, ","));
}

}  // namespace

void print_reshard_text(const ReshardRequest& request, const SchedulingProblem& problem,
                        const ReshardAnswer& answer, std::ostream& out) {
  fmt::print(out, "{} tasks   strategy {}\n\nmakespan {}, {}\nlower bound: {}\n\n",
             request.tasks.size(), to_string(request.strategy), answer.schedule.makespan,
             verdict(answer), evidence(answer, problem));
  if (answer.certificate) fmt::print(out, "certificate: {}\n\n", *answer.certificate);
  TableRows rows{{"start", "end", "task", "sender", "receivers"}};
  for (const TaskRun& run : answer.schedule.runs) {
    const UnitTask& task = request.tasks[run.task];
    rows.push_back({std::to_string(run.start), std::to_string(run.start + task.size),
                    std::to_string(run.task), std::to_string(run.sender),
                    fmt::format("{}", fmt::join(task.receiver_hosts, " "))});
  }
  print_table(rows, 4, out);
}

void print_reshard_json(const ReshardRequest& request, const SchedulingProblem& problem,
                        const ReshardAnswer& answer, std::ostream& out) {
  out << "{\"tasks\":[";
  for (std::size_t i = 0; i < request.tasks.size(); ++i) {
    fmt::print(out, "{}{}", i == 0 ? "\n" : ",\n", json_task(request.tasks[i]));
  }
  fmt::print(out, "\n],\"strategy\":\"{}\",\"schedule\":[", to_string(request.strategy));
  const char* separator = "\n";
  for (const TaskRun& run : answer.schedule.runs) {
    fmt::print(out, "{}{{\"task\":{},\"sender\":{},\"start\":{},\"end\":{}}}", separator, run.task,
               run.sender, run.start, run.start + request.tasks[run.task].size);
    separator = ",\n";
  }
  fmt::print(out,
             "\n],\"makespan\":{},\"lower_bound\":{},\"optimal\":{},\"evidence\":{},"
             "\"certificate\":{}}}\n",
             answer.schedule.makespan, answer.lower_bound, answer.optimal(),
             json_string(evidence(answer, problem)),
             answer.certificate ? json_string(*answer.certificate) : "null");
}

std::string reshard_plot(const ReshardRequest& request, const ReshardAnswer& answer) {
  Timeline line{fmt::format("{} tasks, {}: makespan {}", request.tasks.size(),
                            to_string(request.strategy), answer.schedule.makespan),
                "time"};
  std::map<std::pair<bool, std::uint32_t>, std::size_t> lanes;  // receiving, host
  for (const UnitTask& task : request.tasks) {
    for (const std::uint32_t host : task.sender_hosts) lanes[{false, host}] = 0;
    for (const std::uint32_t host : task.receiver_hosts) lanes[{true, host}] = 0;
  }
  for (auto& [lane, number] : lanes) {
    number = line.lanes.size();
    line.lanes.push_back(fmt::format("host {} {}", lane.second, lane.first ? "receives" : "sends"));
  }
  for (const TaskRun& run : answer.schedule.runs) {
    const UnitTask& task = request.tasks[run.task];
    const auto start = static_cast<double>(run.start);
    const auto end = static_cast<double>(run.start + task.size);
    line.bars.push_back({lanes.at({false, run.sender}), start, end, run.task});
    for (const std::uint32_t host : task.receiver_hosts) {
      line.bars.push_back({lanes.at({true, host}), start, end, run.task});
    }
  }
  Svg svg(kPlotWidth, height_of(line));
  draw(svg, line, 0, 0, kPlotWidth);
  return svg.document();
}

}  // namespace p2
