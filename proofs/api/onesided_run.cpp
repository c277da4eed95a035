#include <fmt/format.h>

#include "engine/base/files.h"
#include "engine/onesided/judge.h"
#include "engine/onesided/plan.h"
#include "engine/onesided/text_plan.h"
#include "proofs/api/run_jobs.h"

namespace p2 {
namespace {

using onesided::PlanDecision;
using onesided::RunFailure;
using onesided::Unrolling;
using onesided::Violation;

/// A plan, what was decided about it, and the launches that are run.
struct JudgedPlan {
  PlanDecision decision;
  std::optional<Unrolling> launches = {};
};

JudgedPlan judged_plan(const std::string& file, const Limits& limits) {
  const std::string text = read_file(file);
  std::variant<Unrolling, Violation> unrolled;
  JudgedPlan subject;
  if (onesided::is_text_plan(text)) {
    const onesided::TextPlan plan = onesided::read_text_plan(file, text);
    subject.decision = judge(plan, file, limits);
    unrolled = unroll(plan, file, launches_to_check(plan));
  } else if (onesided::is_plan_json(text)) {
    const auto read = onesided::read_plan(file, text);
    if (const auto* const violation = std::get_if<Violation>(&read)) {
      subject.decision.outcome = Outcome::Refuted;
      subject.decision.violation = *violation;
      return subject;
    }
    const auto& plan = std::get<onesided::Plan>(read);
    subject.decision = judge(plan, file, limits);
    // The sizes that were refuted, or the first.
    const std::vector<onesided::Sizes> all = sizes_to_check(plan);
    const bool refuted = subject.decision.violation && !subject.decision.sizes.empty();
    unrolled = unroll(plan, file, all[refuted ? subject.decision.sizes.size() - 1 : 0],
                      launches_to_check(plan));
  } else {
    throw InputError({file}, "is not a one-sided plan, expected files of the kind of the first");
  }
  if (auto* const launches = std::get_if<Unrolling>(&unrolled)) {
    subject.launches = std::move(*launches);
  }
  return subject;
}

void require_onesided_request(const RunRequest& request) {
  const std::string_view setting = program_setting(request);
  if (!setting.empty()) {
    throw InputError({fmt::format("--{}", setting)}, "is for programs, expected none with plans");
  }
  if (request.backend != RunBackend::InProcess) {
    throw InputError({"--backend"}, "one-sided plans run in this process only");
  }
}

/// ThreadedRuns of one plan: as many in program order as with late memory.
struct ThreadedRuns {
  unsigned made = 0;
  unsigned failed = 0;
  bool first_is_late = false;
  std::optional<RunFailure> first = {};  ///< that failed
};

ThreadedRuns run_threads(const Unrolling& launches, unsigned iterations, const Options& options) {
  ThreadedRuns runs;
  for (const bool late : {false, true}) {
    for (unsigned k = 0; k < iterations; ++k) {
      auto failure = run_with_threads(launches, late, options.seed + k, options.limits);
      ++runs.made;
      if (!failure) continue;
      ++runs.failed;
      if (runs.first) continue;
      runs.first = std::move(failure);
      runs.first_is_late = late;
    }
  }
  return runs;
}

}  // namespace

RunAnswer run_onesided(const RunRequest& request, const Options& options) {
  require_onesided_request(request);
  RunAnswer answer;
  answer.document.title = "p2-verify run";
  Json results = Json::array();
  for (const std::string& file : request.files) {
    const JudgedPlan subject = judged_plan(file, options.limits);
    const bool refused = subject.decision.violation.has_value();
    ThreadedRuns runs;
    bool limited = false;
    std::string line = printable(file) + ": ";
    if (refused) line += fmt::format("refused: {} ", subject.decision.violation->reason);
    if (subject.launches && (!refused || request.force)) {
      try {
        runs = run_threads(*subject.launches, request.iterations, options);
        line += fmt::format("{} runs of {} launches on {} ranks, half of them with late memory: ",
                            runs.made, subject.launches->launches, subject.launches->ranks);
        line += runs.failed == 0
                    ? "every output is right"
                    : fmt::format("{} fail; the first {} with seed {}: {}", runs.failed,
                                  runs.first_is_late ? "with late memory" : "in program order",
                                  runs.first->seed, runs.first->reason);
      } catch (const LimitReached& limit) {
        limited = true;
        line += limit.what();
        answer.diagnostics.push_back({Diagnostic::Kind::Undecided, file + ": " + limit.what()});
      }
    } else {
      line += request.force ? "not run" : "not run, --force runs it";
    }
    answer.document.line(line);
    const Outcome outcome = refused || runs.failed > 0 ? Outcome::Refuted
                            : limited                  ? Outcome::Undecided
                                                       : Outcome::Established;
    answer.results.push_back({file, outcome});
    answer.outcome = worst(answer.outcome, outcome);
    results.push_back(
        Json::object({{"file", file},
                      {"format", "onesided"},
                      {"refused", refused ? Json(subject.decision.violation->reason) : Json()},
                      {"runs", runs.made},
                      {"failing_runs", runs.failed},
                      {"failing_run", runs.first ? Json::object({{"seed", runs.first->seed},
                                                                 {"late", runs.first_is_late},
                                                                 {"reason", runs.first->reason}})
                                                 : Json()},
                      {"wrong", Json()}}));
  }
  answer.document.json = Json::object({{"iterations", request.iterations},
                                       {"seed", options.seed},
                                       {"results", std::move(results)},
                                       {"wrong", Json()}});
  return answer;
}

}  // namespace p2
