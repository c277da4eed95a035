#include <ostream>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/meshes/reshard_certificate.h"
#include "cli/meshes/reshard_plan.h"
#include "cli/meshes/reshard_report.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "engine/execution/processes/mpirun.h"
#include "engine/reshard/strategies.h"

namespace p2 {
namespace {

ReshardAnswer search(const ReshardRequest& request, const SchedulingProblem& problem,
                     std::ostream& err) {
  ScheduleSearchProgress progress;
  const ProgressLine line(request.common.progress, err, [&] {
    return fmt::format("{} states, best makespan {}", progress.states.load(), progress.best.load());
  });
  return {
      exact_schedule(request.tasks, problem, request.common.seed, request.common.limits, progress)};
}

TaskSchedule baseline(const ReshardRequest& request) {
  if (request.strategy == ReshardStrategy::Naive) return naive_schedule(request.tasks);
  if (request.strategy == ReshardStrategy::LoadBalance) {
    return load_balanced_schedule(request.tasks);
  }
  return greedy_schedule(request.tasks, request.common.seed);
}

ReshardAnswer answer_to(const ReshardRequest& request, const SchedulingProblem& problem,
                        std::ostream& err) {
  if (request.strategy == ReshardStrategy::Exact) return search(request, problem, err);
  const LowerBound bound = lower_bound(PartialSchedule(problem), problem);
  return {{baseline(request), bound, bound.value, 0}};
}

/// The answer, with the plan as its first key or last paragraph.
void print_with_plan(const ReshardRequest& request, const SchedulingProblem& problem,
                     const ReshardAnswer& answer, const PlanAnswer& plan, std::ostream& out) {
  if (request.common.format == Format::Text) {
    print_reshard_text(request, problem, answer, out);
    out << to_text(plan, request);
    return;
  }
  std::ostringstream document;
  print_reshard_json(request, problem, answer, document);
  out << "{\"plan\":" << to_json(plan, request) << ",\n" << document.str().substr(1);
}

int run_plan_of(const ReshardRequest& request, const PlanAnswer& plan, const Arguments& arguments,
                std::ostream& out, std::ostream& err) {
  Arguments words = {"reshard"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_plans({{"", plan.plan}}, *request.plan->run, request.common, words, out, err);
}

void print_gap(const ReshardAnswer& answer, std::ostream& err) {
  fmt::print(
      err,
      "p2-verify: the schedule takes {}; that a shorter one takes {} or more is all that was "
      "settled within the limits\n",
      answer.schedule.makespan, answer.lower_bound);
}

/// To a file, where one is asked for.
void write_plot(const ReshardRequest& request, const ReshardAnswer& answer, std::ostream& out) {
  if (!request.plot) return;
  Output plot(request.plot, out);
  plot.stream() << reshard_plot(request, answer);
  plot.finish();
}

}  // namespace

int run_reshard(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify reshard --tasks FILE [OPTION…]\n"
      "       p2-verify reshard --shape SIZES --from MESH:SPEC --to MESH:SPEC [OPTION…]\n"
      "Schedules what the hosts of one mesh send to those of another: which sender each slice\n"
      "takes, and when. The shortest schedule there is, unless told otherwise.",
      reshard_flags(), arguments);
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const ReshardRequest request = reshard_request(line);
  const SchedulingProblem problem(request.tasks);
  ReshardAnswer answer = answer_to(request, problem, err);
  // Of processes that run a plan, the one that starts them writes.
  const bool runs = request.plan && request.plan->run;
  const bool writes = !(runs && execution::under_mpirun());
  const ExitCode certified =
      writes ? certify_schedule(request, problem, answer, err) : kEstablished;
  if (writes) write_plot(request, answer, out);
  const bool undecided = request.strategy == ReshardStrategy::Exact && !answer.optimal();
  const int settled = certified == kEstablished && undecided ? kUndecided : certified;
  std::optional<PlanAnswer> plan;
  if (request.plan) plan = plan_answer(request, answer.schedule, out);
  if (runs) {
    const int code = run_plan_of(request, *plan, arguments, out, err);
    if (undecided && writes) print_gap(answer, err);
    return code == kEstablished ? settled : code;
  }
  Output output(request.common.output, out);
  if (plan) {
    print_with_plan(request, problem, answer, *plan, output.stream());
  } else {
    (request.common.format == Format::Json ? print_reshard_json : print_reshard_text)(
        request, problem, answer, output.stream());
  }
  output.finish();
  return plan && plan->verdict.fault ? kRefuted : settled;
}

}  // namespace p2
