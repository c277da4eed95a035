#include "proofs/certificate/subject_certificates.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/invariant.h"

namespace p2 {
namespace {

constexpr std::int64_t kTimeEnd = std::int64_t{1} << 42;  // of times that p2-check reads

using Indices = std::vector<std::size_t>;

std::string schedule_text(const UnitTasks& tasks, const TaskSchedule& schedule) {
  if (schedule.makespan >= kTimeEnd) {
    throw LimitReached(
        LimitReached::Kind::Size,
        fmt::format("a makespan of {} is beyond the times that p2-check reads", schedule.makespan));
  }
  std::vector<const TaskRun*> runs(tasks.size());
  for (const TaskRun& run : schedule.runs) runs[run.task] = &run;
  std::string text;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    text += fmt::format(
        "{}\n{{\"size\":{},\"sender_hosts\":[{}],\"receiver_hosts\":[{}],\"sender\":{},"
        "\"start\":{}}}",
        i == 0 ? "" : ",", tasks[i].size, fmt::join(tasks[i].sender_hosts, ","),
        fmt::join(tasks[i].receiver_hosts, ","), runs[i]->sender, runs[i]->start);
  }
  return fmt::format("{{\"tasks\":[{}],\n\"makespan\":{}}}\n", text, schedule.makespan);
}

Indices tasks_of(const SchedulingProblem& problem, const Indices& classes) {
  Indices tasks;
  for (const std::size_t i : classes) {
    tasks.insert(tasks.end(), problem.classes[i].tasks.begin(), problem.classes[i].tasks.end());
  }
  return tasks;
}

Indices received_by(const SchedulingProblem& problem, std::size_t receiver) {
  Indices classes;
  for (std::size_t i = 0; i < problem.classes.size(); ++i) {
    const auto& receivers = problem.classes[i].receivers;
    if (std::count(receivers.begin(), receivers.end(), receiver) > 0) classes.push_back(i);
  }
  return tasks_of(problem, classes);
}

/// The tasks of a pool, the longest first, that justify the bound `value`: all of them by the mean
/// load, or the n·q + 1 longest by the pigeonhole bound.
Indices justifying_tasks(std::int64_t value, const UnitTasks& tasks, Indices all, std::size_t n) {
  std::int64_t total = 0;
  for (const std::size_t i : all) total += tasks[i].size;
  const auto senders = static_cast<std::int64_t>(n);
  if ((total + senders - 1) / senders >= value) return all;
  for (std::size_t q = 0;; ++q) {
    invariant(n * q < all.size(), "some tasks of the pool justify its bound");
    std::int64_t share = 0;
    for (std::size_t i = n * q - q; i <= n * q; ++i) share += tasks[all[i]].size;
    if (share < value) continue;
    all.resize(n * q + 1);
    return all;
  }
}

}  // namespace

CertificateFiles schedule_certificate(const UnitTasks& tasks, const SchedulingProblem& problem,
                                      const TaskSchedule& schedule, const LowerBound& bound,
                                      const Provenance& provenance) {
  Indices some;
  std::vector<std::uint32_t> senders;
  if (bound.reason == LowerBound::Reason::Senders) {
    const SenderPool& pool = problem.pools[bound.index];
    for (const std::size_t i : pool.senders) senders.push_back(problem.sender_hosts[i]);
    some = justifying_tasks(bound.value, tasks, tasks_of(problem, pool.classes), senders.size());
  } else if (bound.reason == LowerBound::Reason::Clique) {
    some = tasks_of(problem, problem.cliques[bound.index]);
  } else {
    some = received_by(problem, bound.index);
  }
  std::sort(some.begin(), some.end());
  CertificateFiles files;
  files["schedule.json"] = schedule_text(tasks, schedule);
  const bool gap = schedule.makespan != bound.value;
  files["bound.json"] =
      fmt::format("{{\"tasks\":[{}],\n\"senders\":[{}]{}}}\n", fmt::join(some, ","),
                  fmt::join(senders, ","), gap ? fmt::format(",\n\"least\":{}", bound.value) : "");
  add_manifest(gap ? "reshard-schedule-gap" : "reshard-schedule", provenance, files);
  return files;
}

CertificateFiles schedule_certificate(const UnitTasks& tasks, const TaskSchedule& schedule,
                                      cnf::ClauseProof proof, const Provenance& provenance) {
  CertificateFiles files;
  files["schedule.json"] = schedule_text(tasks, schedule);
  files["problem.cnf"] = std::move(proof.cnf);
  files["proof.lrat"] = std::move(proof.lrat);
  add_manifest("reshard-schedule-clauses", provenance, files);
  return files;
}

namespace {

constexpr std::int64_t kPipelineTimeEnd = std::int64_t{1} << 40;  // of times that p2-check reads
constexpr std::uint32_t kMaxPipelineWork = 1U << 13U;             // forwards and backwards

/// Of every stage the starts of its forwards, or of its backwards, by microbatch.
std::string starts_of(WorkKind kind, const PipelineRun& run) {
  std::string text;
  for (const std::vector<TimedWork>& stage : run.stages) {
    std::vector<std::int64_t> starts;
    for (const TimedWork& each : stage) {
      if (each.work.kind == kind) starts.push_back(each.start);
    }
    text += fmt::format("{}[{}]", text.empty() ? "" : ",", fmt::join(starts, ","));
  }
  return "[" + text + "]";
}

std::string text_of(const std::vector<OverlapCase>& cases) {
  std::string text;
  for (const OverlapCase& each : cases) {
    text += fmt::format("{}[{},{},{}]", text.empty() ? "" : ",", each.stage, each.forward,
                        each.backward);
  }
  return "[" + text + "]";
}

}  // namespace

CertificateFiles pipeline_certificate(PipelineSize size, const PipelineTimes& times,
                                      const LeastMemory& least, const Provenance& provenance) {
  if (least.each != least.peaks) {
    throw LimitReached(LimitReached::Kind::Size,
                       "the stages' minima are incompatible, which only the search shows");
  }
  const std::uint32_t work = 2 * size.stages * size.microbatches;
  if (least.run.makespan >= kPipelineTimeEnd || work > kMaxPipelineWork) {
    throw LimitReached(
        LimitReached::Kind::Size,
        fmt::format("{} forwards and backwards until {} are more than p2-check reads", work,
                    least.run.makespan));
  }
  std::string all;
  for (const auto& cases : least.cases) all += (all.empty() ? "" : ",\n") + text_of(cases);
  CertificateFiles files;
  files["pipeline.json"] = fmt::format(
      "{{\"stages\":{},\"microbatches\":{},\"forward\":{},\"backward\":{},\"latency\":{},"
      "\"makespan\":{},\n\"forwards\":{},\n\"backwards\":{}}}\n",
      size.stages, size.microbatches, times.forward, times.backward, times.latency,
      least.run.makespan, starts_of(WorkKind::Forward, least.run),
      starts_of(WorkKind::Backward, least.run));
  files["cases.json"] = fmt::format("{{\"cases\":[{}]}}\n", all);
  add_manifest("pipeline-memory", provenance, files);
  return files;
}

namespace {

using strategy::Cost;

/// A table that several edges share is written once.
std::string problem_text(const strategy::Graph& graph) {
  std::string vertices;
  for (const auto& costs : graph.costs) {
    vertices += fmt::format("{}\n[{}]", vertices.empty() ? "" : ",", fmt::join(costs, ","));
  }
  using Shaped = std::pair<std::size_t, const std::vector<Cost>*>;  // columns, cells
  const auto less = [](const Shaped& a, const Shaped& b) {
    return std::tie(a.first, *a.second) < std::tie(b.first, *b.second);
  };
  std::map<Shaped, std::size_t, decltype(less)> numbers(less);
  std::string tables;
  std::string edges;
  for (const strategy::Edge& edge : graph.edges) {
    const std::size_t columns = graph.configurations(edge.second);
    const auto [known, is_new] = numbers.emplace(Shaped(columns, &edge.table), numbers.size());
    edges += fmt::format("{}\n[{},{},{}]", edges.empty() ? "" : ",", edge.first, edge.second,
                         known->second);
    if (!is_new) continue;
    tables += tables.empty() ? "\n[" : ",\n[";
    for (auto row = edge.table.begin(); row != edge.table.end();) {
      const auto end = row + static_cast<std::ptrdiff_t>(columns);
      tables +=
          fmt::format("{}[{}]", row == edge.table.begin() ? "" : ",\n ", fmt::join(row, end, ","));
      row = end;
    }
    tables += "]";
  }
  return fmt::format("{{\"vertices\":[{}],\n\"tables\":[{}],\n\"edges\":[{}]}}\n", vertices, tables,
                     edges);
}

std::string strategy_text(const strategy::Found& found) {
  return fmt::format("{{\"configurations\":[{}],\"cost\":{}}}\n", fmt::join(found.strategy, ","),
                     found.cost);
}

std::string bound_text(const strategy::Solution& answer) {
  std::string removals;
  for (const strategy::Removal& removal : answer.removals) {
    removals += fmt::format("{}\n[{},{},{}]", removals.empty() ? "" : ",", removal.vertex,
                            removal.configuration, removal.by);
  }
  return fmt::format("{{\"removals\":[{}],\n\"order\":[{}]}}\n", removals,
                     fmt::join(answer.order.vertices, ","));
}

/// `terms`: their number; sums are numbered after them.
std::string sums_text(const cnf::StrategyRefutation& refutation, std::size_t terms) {
  std::string additions;
  std::string sums;
  for (std::size_t n = 0; n < refutation.sums.size(); ++n) {
    const strategy::Addition& addition = refutation.additions[n];
    const auto sum = addition.sum ? fmt::format("{},", terms + *addition.sum) : "";
    const auto* const separator = n == 0 ? "" : ",";
    additions += fmt::format("{}[{}{}]", separator, sum, addition.part);
    sums += fmt::format("{}\n[{}]", separator, fmt::join(refutation.sums[n], ","));
  }
  return fmt::format("{{\"additions\":[{}],\n\"sums\":[{}]}}\n", additions, sums);
}

}  // namespace

CertificateFiles strategy_certificate(const strategy::Graph& graph,
                                      const strategy::Solution& answer,
                                      const Provenance& provenance) {
  constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 30U;
  if (answer.order.additions > kMaxWork) {
    throw LimitReached(LimitReached::Kind::Size,
                       "checking the certificate would take more work than p2-check allows");
  }
  CertificateFiles files;
  files["problem.json"] = problem_text(graph);
  files["strategy.json"] = strategy_text(answer.found);
  files["bound.json"] = bound_text(answer);
  add_manifest("strategy-optimal", provenance, files);
  return files;
}

CertificateFiles strategy_certificate(const strategy::Graph& graph, const strategy::Found& found,
                                      const cnf::StrategyRefutation& refutation,
                                      const Provenance& provenance) {
  CertificateFiles files;
  files["problem.json"] = problem_text(graph);
  files["strategy.json"] = strategy_text(found);
  files["sums.json"] = sums_text(refutation, graph.vertices() + graph.edges.size());
  files["problem.cnf"] = refutation.proof.cnf;
  files["proof.lrat"] = refutation.proof.lrat;
  add_manifest("strategy-optimal-clauses", provenance, files);
  return files;
}

}  // namespace p2
