#include "p2/reshard.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "encodings/cnf/queries.h"
#include "encodings/cnf/synthesis.h"
#include "engine/base/files.h"
#include "engine/base/invariant.h"
#include "engine/base/limits.h"
#include "engine/base/plot.h"
#include "engine/reshard/plan_simulation.h"
#include "engine/reshard/plans/plan.h"
#include "engine/reshard/plans/plan_check.h"
#include "engine/reshard/scheduling.h"
#include "engine/reshard/sharding.h"
#include "engine/topology/system.h"
#include "p2/version.h"
#include "proofs/api/campaigns.h"
#include "proofs/certificate/subject_certificates.h"

namespace p2 {
namespace {

constexpr std::uint64_t kMaxConflicts = 2'000'000;  // of the SAT solver, unless told otherwise

/// The tensor of the request, parsed.
struct Tensor {
  TensorShape shape;
  Sharding from;
  Sharding to;
};

Tensor parse_tensor(const ReshardTensor& given) {
  Tensor tensor{parse_shape("--shape", given.shape), {}, {}};
  tensor.from = parse_sharding("--from", given.from, tensor.shape.size());
  tensor.to = parse_sharding("--to", given.to, tensor.shape.size());
  if (given.pad) tensor.shape = padded(tensor.shape, tensor.from, tensor.to, "--shape");
  return tensor;
}

/// What the answer is made from.
struct ReshardQuestion {
  const ReshardRequest& request;
  std::optional<Tensor> tensor;
  UnitTasks tasks;
  SchedulingProblem scheduling;
};

ReshardQuestion read_problem(const ReshardRequest& request) {
  if (request.tasks && request.tensor) {
    throw InputError({"--shape"}, "given with --tasks, expected only one of both");
  }
  if (!request.tasks && !request.tensor) {
    throw InputError({"command line"}, "nothing to schedule, expected --tasks or --shape");
  }
  if (request.plan && !request.tensor) {
    throw InputError({"--plan"}, "tasks do not say where elements are, expected --shape");
  }
  if (request.cubes && request.strategy != ReshardStrategy::Exact) {
    throw InputError({"--cubes"},
                     "ask whether a shortest schedule is one, expected --strategy exact");
  }
  std::optional<Tensor> tensor;
  UnitTasks tasks;
  if (request.tasks) {
    tasks = read_tasks(*request.tasks, read_file(*request.tasks));
  } else {
    tensor = parse_tensor(*request.tensor);
    tasks = decompose(tensor->shape, tensor->from, tensor->to, request.tensor->decomposition,
                      "--shape");
  }
  SchedulingProblem scheduling(tasks);
  return {request, std::move(tensor), std::move(tasks), std::move(scheduling)};
}

// The schedule.

TaskSchedule baseline_schedule(const ReshardQuestion& problem, std::uint64_t seed) {
  if (problem.request.strategy == ReshardStrategy::Naive) return naive_schedule(problem.tasks);
  if (problem.request.strategy == ReshardStrategy::LoadBalance) {
    return load_balanced_schedule(problem.tasks);
  }
  return greedy_schedule(problem.tasks, seed);
}

ExactSchedule find_schedule(const ReshardQuestion& problem, const Options& options) {
  if (problem.request.strategy != ReshardStrategy::Exact) {
    const LowerBound bound = lower_bound(PartialSchedule(problem.scheduling), problem.scheduling);
    return {baseline_schedule(problem, options.seed), bound, bound.value, 0};
  }
  ScheduleSearchProgress progress;
  const ProgressReporter reporter(options.progress, [&] {
    return fmt::format("{} states, best makespan {}", progress.states.load(), progress.best.load());
  });
  return exact_schedule(problem.tasks, problem.scheduling, options.seed, options.limits, progress);
}

/// Writes the cubes of the question whether there is a shorter schedule or, where a certificate is
/// wanted, reads their proofs, which settle the lower bound.
std::optional<cnf::ScheduleRefutation> use_cubes(const ReshardQuestion& problem,
                                                 ExactSchedule& found, const Options& options,
                                                 std::vector<Diagnostic>& diagnostics) {
  const ReshardRequest& request = problem.request;
  const std::int64_t makespan = found.schedule.makespan;
  if (!request.cubes) return std::nullopt;
  if (found.bound.value == makespan) {
    diagnostics.push_back({Diagnostic::Kind::Note,
                           "--cubes: none, that no schedule is shorter is shown without clauses"});
    return std::nullopt;
  }
  if (!request.certify) {
    const auto question = cnf::shorter_schedule_clauses(problem.tasks, makespan);
    if (!question) {
      diagnostics.push_back({Diagnostic::Kind::Undecided, "--cubes: they would be too large"});
      return std::nullopt;
    }
    cnf::write_cubes(*request.cubes, question->clauses, question->cubes);
    diagnostics.push_back(
        {Diagnostic::Kind::Note, cubes_written(question->cubes.size(), *request.cubes)});
    return std::nullopt;
  }
  cnf::ScheduleRefutation refutation =
      cnf::refute_shorter_schedule(problem.tasks, makespan, options.limits, request.cubes);
  if (refutation.outcome == Outcome::Established) {
    found.lower_bound = makespan;
  } else if (refutation.outcome == Outcome::Refuted) {
    invariant(!found.optimal(), "no schedule is shorter than the optimum");
    diagnostics.push_back(
        {Diagnostic::Kind::Undecided,
         fmt::format("--cubes: there is a schedule shorter than {}, of none of the cubes",
                     makespan)});
  }
  return refutation;
}

/// The certificate of the machine-based bound where that is the lower bound, else by clauses, which
/// may have been refuted already.
CertificateFiles certify_schedule(const ReshardQuestion& problem, const ExactSchedule& found,
                                  std::optional<cnf::ScheduleRefutation> refutation,
                                  const Options& options) {
  Provenance provenance{{{"p2-verify", build_info().version}},
                        {{"strategy", std::string(to_string(problem.request.strategy))}},
                        options.seed};
  if (found.lower_bound == found.bound.value) {
    return schedule_certificate(problem.tasks, problem.scheduling, found.schedule, found.bound,
                                provenance);
  }
  if (!found.optimal()) {
    throw LimitReached(LimitReached::Kind::Work,
                       fmt::format("the lower bound of {} was proved by the search before it "
                                   "stopped, without a certificate",
                                   found.lower_bound));
  }
  Limits limits = options.limits;
  if (!limits.work) limits.work = kMaxConflicts;
  if (!refutation) {
    refutation = cnf::refute_shorter_schedule(problem.tasks, found.schedule.makespan, limits);
  }
  invariant(refutation->outcome != Outcome::Refuted, "no schedule is shorter than the optimum");
  if (refutation->outcome == Outcome::Undecided) {
    throw LimitReached(LimitReached::Kind::Work,
                       "no refutation of a shorter schedule within the limits");
  }
  provenance.tools["CaDiCaL"] = cnf::solver_version();
  return schedule_certificate(problem.tasks, found.schedule, std::move(refutation->proof),
                              provenance);
}

std::string hosts_text(const std::vector<std::size_t>& numbers,
                       const std::vector<std::uint32_t>& hosts) {
  std::vector<std::uint32_t> named;
  for (const std::size_t i : numbers) named.push_back(hosts[i]);
  return fmt::format("{} {}", named.size() == 1 ? "host" : "hosts", fmt::join(named, ", "));
}

/// The argument for a machine-based lower bound.
std::string bound_text(const LowerBound& bound, const SchedulingProblem& problem) {
  if (bound.reason == LowerBound::Reason::Receiver) {
    return fmt::format("host {} receives for {}", problem.receiver_hosts[bound.index], bound.value);
  }
  if (bound.reason == LowerBound::Reason::Senders) {
    const auto& senders = problem.pools[bound.index].senders;
    return fmt::format("{}{} must send for {}", senders.size() == 1 ? "" : "one of ",
                       hosts_text(senders, problem.sender_hosts), bound.value);
  }
  std::vector<std::size_t> tasks;
  for (const std::size_t i : problem.cliques[bound.index]) {
    tasks.insert(tasks.end(), problem.classes[i].tasks.begin(), problem.classes[i].tasks.end());
  }
  std::sort(tasks.begin(), tasks.end());
  return fmt::format("no two of tasks {} can run at once, they take {}", fmt::join(tasks, ", "),
                     bound.value);
}

/// `searched`: the search has settled it, whatever clauses have.
std::string evidence_text(const ReshardQuestion& problem, const ExactSchedule& found, bool searched,
                          const Evidence& evidence) {
  if (found.lower_bound == found.bound.value) return bound_text(found.bound, problem.scheduling);
  const bool certified = evidence.kind == Evidence::Kind::Certificate;
  if (!searched && found.optimal()) return "the CNF for a shorter schedule is unsatisfiable";
  return fmt::format("{}a search of {} states found nothing shorter{}",
                     certified ? "" : "solver-only: ", found.states,
                     certified ? ", and the CNF for a shorter schedule is unsatisfiable" : "");
}

/// A lane for what each host sends, and one for what it receives.
std::string draw_timeline(const ReshardQuestion& problem, const TaskSchedule& schedule,
                          std::int64_t lower_bound) {
  Timeline line{fmt::format("{} tasks, {}: makespan {}", problem.tasks.size(),
                            to_string(problem.request.strategy), schedule.makespan),
                problem.tensor ? "time (elements that a host sends)" : "time (units of the sizes)"};
  line.bound = static_cast<double>(lower_bound);
  std::map<std::pair<bool, std::uint32_t>, std::size_t> lanes;  // receiving, host
  for (const UnitTask& task : problem.tasks) {
    for (const std::uint32_t host : task.sender_hosts) lanes[{false, host}] = 0;
    for (const std::uint32_t host : task.receiver_hosts) lanes[{true, host}] = 0;
  }
  for (auto& [lane, number] : lanes) {
    number = line.lanes.size();
    line.lanes.push_back(fmt::format("host {} {}", lane.second, lane.first ? "receives" : "sends"));
  }
  for (const TaskRun& run : schedule.runs) {
    const UnitTask& task = problem.tasks[run.task];
    const auto start = static_cast<double>(run.start);
    const auto end = static_cast<double>(run.start + task.size);
    const std::string name = fmt::format("task {}", run.task);
    line.bars.push_back({lanes.at({false, run.sender}), start, end, run.task, name});
    for (const std::uint32_t host : task.receiver_hosts) {
      line.bars.push_back({lanes.at({true, host}), start, end, run.task, name});
    }
  }
  return svg_document(line);
}

/// The dimensions of a picture: the first two that a sharding cuts, else the first ones.
std::pair<std::size_t, std::size_t> drawn_dimensions(const Tensor& tensor) {
  std::vector<std::size_t> dimensions;
  for (const bool cut : {true, false}) {
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
      const bool is_cut = tensor.from.shards(d) > 1 || tensor.to.shards(d) > 1;
      if (is_cut == cut) dimensions.push_back(d);
    }
  }
  return {dimensions[0], dimensions.size() > 1 ? dimensions[1] : dimensions[0]};
}

/// Which hosts hold which part of the tensor, before and after: a map over two of its dimensions.
std::string draw_partitions(const Tensor& tensor) {
  constexpr double kSide = 250;
  constexpr double kLeft = 60;
  constexpr double kTop = 50;
  const auto [down, across] = drawn_dimensions(tensor);
  const bool is_line = down == across;  // a tensor of one dimension lies along the picture
  Svg svg(kPlotWidth, kTop + kSide + 50);
  svg.text(8, 20, "Which hosts hold which part of the tensor", Svg::Anchor::Start, Svg::kTitle);
  double x = kLeft;
  for (const Sharding* const sharding : {&tensor.from, &tensor.to}) {
    svg.text(x, kTop - 8,
             fmt::format("{}: {} × {} devices", sharding == &tensor.from ? "before" : "after",
                         sharding->mesh[0], sharding->mesh[1]));
    std::map<std::array<double, 4>, std::vector<std::uint32_t>> places;
    for (const Slice& slice : slices_of(tensor.shape, *sharding)) {
      const auto part = [&](const std::vector<std::int64_t>& corner, std::size_t d) {
        return kSide * static_cast<double>(corner[d]) / static_cast<double>(tensor.shape[d]);
      };
      const double top = is_line ? 0 : part(slice.low, down);
      const double bottom = is_line ? kSide : part(slice.high, down);
      auto& hosts = places[{part(slice.low, across), top, part(slice.high, across), bottom}];
      hosts.insert(hosts.end(), slice.hosts.begin(), slice.hosts.end());
    }
    for (auto& [place, hosts] : places) {
      std::sort(hosts.begin(), hosts.end());
      hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
      const auto [left, top, right, bottom] = place;
      const std::string_view colour = plot_colour(hosts.front());
      svg.rectangle(x + left, kTop + top, right - left, bottom - top, colour, "#fffffe");
      const std::string label =
          fitted(fmt::format("host{} {}", hosts.size() == 1 ? "" : "s", fmt::join(hosts, ",")),
                 right - left - 4);
      if (bottom - top < 14 || label.size() < 6) continue;
      svg.text(x + (left + right) / 2, kTop + (top + bottom) / 2 + 4, label, Svg::Anchor::Middle,
               fmt::format("fill=\"{}\"", ink_on(colour)));
    }
    svg.text(x + kSide / 2, kTop + kSide + 18,
             fmt::format("dimension {}: {} elements", across, tensor.shape[across]),
             Svg::Anchor::Middle);
    if (!is_line) {
      svg.text_upwards(x - 12, kTop + kSide / 2,
                       fmt::format("dimension {}: {} elements", down, tensor.shape[down]));
    }
    x += kSide + kLeft + 20;
  }
  return svg.document();
}

/// `makespan 268959744 elements, optimal`: of tasks from a file, in the unit of the file.
std::string makespan_text(const ReshardAnswer& answer, bool of_tensor) {
  const std::string_view unit = of_tensor ? " elements" : "";
  const std::string makespan = fmt::format("makespan {}{}", answer.schedule.makespan, unit);
  if (answer.optimal) return makespan + ", optimal";
  const auto bound = static_cast<double>(answer.lower_bound);
  const auto gap = static_cast<double>(answer.schedule.makespan - answer.lower_bound) / bound;
  return fmt::format("{}, not shown to be optimal: at least {}{}, a gap of {:.1f} %", makespan,
                     answer.lower_bound, unit, 100 * gap);
}

/// `tensor 1026×1024×512, padded from 1024×1024×512`; nothing where the shape is as it was given.
std::optional<std::string> padding_text(const ReshardQuestion& problem) {
  if (!problem.tensor) return std::nullopt;
  const TensorShape given = parse_shape("--shape", problem.request.tensor->shape);
  if (given == problem.tensor->shape) return std::nullopt;
  return fmt::format("tensor {}, padded from {}", fmt::join(problem.tensor->shape, "×"),
                     fmt::join(given, "×"));
}

void add_schedule_text(const ReshardQuestion& problem, const ReshardAnswer& answer,
                       Document& document) {
  if (const auto padding = padding_text(problem)) document.line(*padding);
  document.line(fmt::format("{} tasks   strategy {}", answer.tasks.size(),
                            to_string(problem.request.strategy)));
  document.line("");
  document.line(makespan_text(answer, problem.tensor.has_value()));
  document.line(fmt::format("lower bound: {}", answer.bound_reason));
  document.line("");
  const Evidence& evidence = answer.results[0].evidence;
  if (evidence.kind == Evidence::Kind::Certificate) {
    document.line(certificate_line(evidence));
    document.line("");
  }
  Table table;
  table.header = {"start", "end", "task", "sender", "receivers"};
  table.right_aligned = 4;
  for (const TaskRun& run : answer.schedule.runs) {
    const UnitTask& task = answer.tasks[run.task];
    table.rows.push_back({std::to_string(run.start), std::to_string(run.start + task.size),
                          std::to_string(run.task), std::to_string(run.sender),
                          fmt::format("{}", fmt::join(task.receiver_hosts, " "))});
  }
  document.add(std::move(table));
  if (!problem.request.plot) return;
  document.add(Drawing{"Schedule", answer.plot});
  if (!problem.tensor) return;
  document.add(Drawing{"The tensor before and after", draw_partitions(*problem.tensor)});
}

Json::Object schedule_members(const ReshardQuestion& problem, const ReshardAnswer& answer) {
  const Evidence& evidence = answer.results[0].evidence;
  const bool certified = evidence.kind == Evidence::Kind::Certificate;
  return {{"tasks", Json::array_of(answer.tasks,
                                   [](const UnitTask& task) {
                                     return Json::object(
                                         {{"size", task.size},
                                          {"sender_hosts", Json::array_of(task.sender_hosts)},
                                          {"receiver_hosts", Json::array_of(task.receiver_hosts)}});
                                   })},
          {"strategy", to_string(problem.request.strategy)},
          {"schedule", Json::array_of(answer.schedule.runs,
                                      [&](const TaskRun& run) {
                                        return Json::object(
                                            {{"task", run.task},
                                             {"sender", run.sender},
                                             {"start", run.start},
                                             {"end", run.start + answer.tasks[run.task].size}});
                                      })},
          {"makespan", answer.schedule.makespan},
          {"lower_bound", answer.lower_bound},
          {"optimal", answer.optimal},
          {"evidence", answer.bound_reason},
          {"certificate", certified ? Json(evidence.folder) : Json()},
          {"claim_digest", certified ? Json(evidence.claim) : Json()}};
}

// The plan of transfers.

/// The time by the formulas as a multiple of the time to send the tensor once to one host.
double formula_multiple(const reshard::FormulaTime& formula, const TensorShape& shape) {
  double elements = 1;
  for (const std::int64_t length : shape) elements *= static_cast<double>(length);
  return static_cast<double>(formula.time) / static_cast<double>(formula.parts) / elements;
}

/// Makes, checks and prices the plan; its report is the end of the text and the member `plan`.
Json add_plan(const ReshardQuestion& problem, ReshardAnswer& answer, Document& text) {
  const ReshardPlanSpec& spec = *problem.request.plan;
  const Tensor& tensor = *problem.tensor;
  if (spec.chunks < 1 || spec.chunks > ReshardPlanSpec::kMaxChunks) {
    throw InputError({"--chunks"}, fmt::format("found {}, expected a whole number from 1 to {}",
                                               spec.chunks, ReshardPlanSpec::kMaxChunks));
  }
  if (spec.first_host && *spec.first_host > tensor.from.mesh[0]) {
    throw InputError({"--to-host", 1, 1},
                     fmt::format("found '{}', expected a whole number from 0 to {}",
                                 *spec.first_host, tensor.from.mesh[0]));
  }
  const reshard::Reshard resharding = reshard::reshard_between(
      tensor.shape, tensor.from, tensor.to, spec.first_host.value_or(tensor.from.mesh[0]));
  const reshard::PlanChoice choice{spec.strategy, problem.request.tensor->decomposition,
                                   spec.chunks};
  const reshard::Plan plan = make_plan(resharding, choice, answer.schedule);
  const auto decision = judge(plan);
  const reshard::FormulaTime formula =
      time_by_formula(resharding, answer.tasks, choice, answer.schedule);
  const auto& fault = decision.violation;
  answer.plan = ReshardPlanAnswer{!fault.has_value(), to_json(plan), 0};
  Result& result = answer.results.emplace_back();
  result.subject = "plan";
  result.outcome = fault ? Outcome::Refuted : Outcome::Established;
  if (fault) {
    result.counterexample = Counterexample{
        std::string(to_string(fault->rule)), {}, fault->explanation, fault_json(*fault), {}};
  }
  Json seconds;
  Json bottleneck;
  text.line("");
  text.line(fmt::format("plan: {}, {} transfers, {}", plan.strategy, plan.transfers(),
                        fault ? fault->explanation : "valid"));
  text.line(fmt::format("by the formulas: {:.4g} times the time to send the tensor once",
                        formula_multiple(formula, tensor.shape)));
  if (spec.system && !fault) {
    const std::string& source = *spec.system;
    const Network network(parse_system(source, read_file(source)), {source});
    const reshard::SimulatedTime simulated =
        simulated_time(plan, network, devices_on(network, resharding, source), spec.element_bytes);
    const std::string busiest = network.name(simulated.busiest);
    answer.plan->seconds = simulated.seconds;
    seconds = Json::number(fmt::format("{:.9g}", simulated.seconds));
    bottleneck = busiest;
    text.line(fmt::format("on {}: {:.4g} s; {} is busy for {:.4g} s of them", source,
                          simulated.seconds, busiest, simulated.busy_seconds));
  }
  if (spec.file) text.line("written to " + *spec.file);
  text.line("");
  text.add(Preformatted{draw(plan)});
  return Json::object(
      {{"strategy", plan.strategy},
       {"transfers", plan.transfers()},
       {"verdict", fault ? "invalid" : "valid"},
       {"reason", fault ? Json(fault->explanation) : Json()},
       {"file", spec.file ? Json(*spec.file) : Json()},
       {"formula", Json::object({{"elements", formula.time}, {"parts", formula.parts}})},
       {"seconds", seconds},
       {"bottleneck", bottleneck},
       {"programs", plan_json(plan)}});
}

}  // namespace

std::string_view to_string(ReshardStrategy strategy) {
  switch (strategy) {
    case ReshardStrategy::Exact:
      return "exact";
    case ReshardStrategy::Naive:
      return "naive";
    case ReshardStrategy::LoadBalance:
      return "load-balance";
    case ReshardStrategy::Greedy:
      break;
  }
  return "greedy";
}

ReshardAnswer schedule_resharding(const ReshardRequest& request, const Options& options) {
  const ReshardQuestion problem = read_problem(request);
  ExactSchedule found = find_schedule(problem, options);
  ReshardAnswer answer;
  const bool searched = found.optimal();
  std::optional<cnf::ScheduleRefutation> refutation =
      use_cubes(problem, found, options, answer.diagnostics);
  answer.tasks = problem.tasks;
  answer.schedule = found.schedule;
  answer.lower_bound = found.lower_bound;
  answer.optimal = found.optimal();
  answer.states = found.states;
  Result result;
  result.subject = "schedule";
  result.model = fmt::format("strategy {}", to_string(request.strategy));
  const bool undecided = request.strategy == ReshardStrategy::Exact && !answer.optimal;
  result.outcome = undecided ? Outcome::Undecided : Outcome::Established;
  if (undecided) {
    result.undecided = Undecided{Undecided::Reason::Limit,
                                 fmt::format("makespan {}, lower bound {}, optimality not proved",
                                             answer.schedule.makespan, answer.lower_bound)};
  }
  result.evidence.kind = Evidence::Kind::SolverOnly;
  if (request.certify) {
    const auto make = [&] {
      return certify_schedule(problem, found, std::move(refutation), options);
    };
    result.evidence = written_evidence(*request.certify, make, answer.diagnostics);
  }
  answer.bound_reason = evidence_text(problem, found, searched, result.evidence);
  answer.results.push_back(std::move(result));
  if (request.plot) answer.plot = draw_timeline(problem, answer.schedule, answer.lower_bound);
  Document& document = answer.document;
  document.title = "p2-verify reshard";
  add_schedule_text(problem, answer, document);
  Json::Object members;
  if (request.plan) members.emplace_back("plan", add_plan(problem, answer, document));
  for (Json::Member& member : schedule_members(problem, answer)) {
    members.push_back(std::move(member));
  }
  document.json = Json(std::move(members));
  for (const Result& each : answer.results) answer.outcome = worst(answer.outcome, each.outcome);
  return answer;
}

}  // namespace p2
