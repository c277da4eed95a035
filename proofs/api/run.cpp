#include "p2/run.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "engine/base/files.h"
#include "engine/base/invariant.h"
#include "engine/base/limits.h"
#include "engine/execution/workloads.h"
#include "engine/program/derivation.h"
#include "engine/program/program.h"
#include "engine/program/program_file.h"
#include "engine/reshard/plans/plan.h"
#include "engine/reshard/plans/plan_check.h"
#include "p2/bytes.h"
#include "p2/error.h"
#include "proofs/api/run_jobs.h"
#include "proofs/api/subject_check.h"
#include "proofs/api/terms.h"

namespace p2 {
namespace {

namespace fs = std::filesystem;

using namespace execution;

// ---- What a run needs of the machine

/// Throws LimitReached, before the machine is out of memory; the message ends in what was
/// `expected`.
void require_memory(std::uint64_t bytes, const Limits& limits, const char* expected) {
  const std::uint64_t there = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                              static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  const std::uint64_t most = limits.memory_bytes.value_or(there / 10 * 9);
  if (bytes <= most) return;
  throw LimitReached(LimitReached::Kind::Memory,
                     fmt::format("the buffers of all devices would take {} MiB of {}, expected {}",
                                 bytes >> 20U, most >> 20U, expected));
}

/// Two buffers per rank, of rows of bytes / chunks; of the program with the largest.
std::uint64_t buffer_bytes(const ProgramJobs& jobs) {
  std::uint64_t bytes = 0;
  for (const ProgramJobs::Source& program : jobs.programs) {
    const Program& read = program.read.program;
    const std::uint64_t row = (jobs.sizes.back() + read.chunks() - 1) / read.chunks();
    bytes = std::max(bytes, 2 * row * plan_of(read).max_rows * read.devices);
  }
  return bytes;
}

std::uint64_t buffer_bytes(const std::vector<PlanSource>& plans) {
  std::uint64_t bytes = 0;
  for (const PlanSource& each : plans) {
    const PlanRun run(each.plan);
    std::uint64_t sum = 0;
    for (std::uint32_t rank = 0; rank < run.ranks(); ++rank) {
      const auto [source, destination] = run.buffer_bytes(rank);
      sum += source + destination;
    }
    bytes = std::max(bytes, 2 * sum);  // messages are at most as large
  }
  return bytes;
}

void require_ranks(std::uint32_t ranks, RunBackend backend) {
  const std::uint32_t most = max_ranks(backend);
  if (ranks > most) {
    throw InputError({"--backend"}, fmt::format("{} devices, expected at most {}{}", ranks, most,
                                                backend == RunBackend::InProcess ? " in one process"
                                                                                 : " processes"));
  }
}

LaunchSpec launch_spec(const ProgramJobs& jobs, const RunRequest& request, const Options& options) {
  LaunchSpec spec{1, WorkloadKind::Program, false, 0, options.limits.deadline, request.command};
  std::size_t steps = 1;
  for (const ProgramJobs::Source& each : jobs.programs) {
    const Program& program = each.read.program;
    require_ranks(program.devices, request.backend);
    const bool same = &each == &jobs.programs.front() || program.devices == spec.ranks;
    if (!same && request.backend != RunBackend::InProcess) {
      throw InputError({"--backend"},
                       fmt::format("programs for {} and for {} devices, expected the same number, "
                                   "as each is a process",
                                   spec.ranks, program.devices));
    }
    spec.ranks = program.devices;
    steps = std::max(steps, program.steps.size());
  }
  spec.max_gathered_bytes = max_gathered_bytes(steps, request.iterations);
  const bool in_host_memory = request.backend != RunBackend::Nccl;
  if (in_host_memory && (request.backend == RunBackend::InProcess || !under_mpirun())) {
    require_memory(buffer_bytes(jobs), options.limits, "smaller --bytes");
  }
  return spec;
}

LaunchSpec launch_spec(const std::vector<PlanSource>& plans, const RunRequest& request,
                       const Options& options) {
  LaunchSpec spec{1, WorkloadKind::Plan, true, 0, options.limits.deadline, request.command};
  for (const PlanSource& each : plans)
    spec.ranks = std::max(spec.ranks, each.plan.problem.devices());
  require_ranks(spec.ranks, request.backend);
  spec.max_gathered_bytes = max_gathered_bytes(1, request.iterations);
  if (!under_mpirun()) require_memory(buffer_bytes(plans), options.limits, "a smaller tensor");
  return spec;
}

// ---- Running

RunTime run_time(const Measurement& measured, const CollectiveSet& collectives) {
  return {std::string(collectives.name_of(measured.collective)),
          measured.bytes,
          measured.count,
          measured.seconds,
          measured.algbw(),
          measured.busbw(),
          measured.wrong};
}

/// Runs the programs of a request at all sizes, and, to compare with each, its goal's collective
/// alone over its classes.
class ProgramRunner {
 public:
  ProgramRunner(const ProgramJobs& jobs, const RunRequest& request, const Options& options,
                Backend& backend, RunAnswer& answer)
      : jobs_(jobs), request_(request), options_(options), backend_(backend), answer_(answer) {}

  /// `number` follows the program that is run, from 1.
  void run_all(std::atomic<std::uint32_t>& number) {
    for (const ProgramJobs::Source& program : jobs_.programs) {
      number_ = ++number;
      run(program);
    }
  }

 private:
  void run(const ProgramJobs::Source& source) {
    const Program& program = source.read.program;
    const Expectation expectation(program, source.read.dialect);
    ProgramTimes& times = answer_.programs.emplace_back();
    times.file = source.file;
    if (const auto& refutation = expectation.decision().violation) {
      times.refused = explain(*refutation, program, source.instance());
      times.skipped = !request_.force;
      if (times.skipped) return;
    }
    const Plan plan = plan_of(program);
    invariant(!first_mismatch(plan, planned_calls(plan)), "the calls of a plan do not match");
    for (const std::uint64_t bytes : jobs_.sizes) {
      times.sizes.push_back(run(plan, program.terms.goal, expectation, bytes));
      SizeTimes& size = times.sizes.back();
      // The single collective is compared with itself, by the same measurement.
      size.allreduce = is_goal(program) ? size.total : run_goal(program, bytes);
    }
  }

  ProgramRun workload(const Plan& plan, const Expectation& expectation, std::uint64_t bytes) const {
    const std::uint64_t per_chunk = plan.chunks * size_of(jobs_.type);
    return {plan,
            expectation,
            {jobs_.type, jobs_.inputs, plan.devices, options_.seed},
            (bytes + per_chunk - 1) / per_chunk};
  }
  Job job_of(const ProgramRun& run) const {
    return {run,
            number_,
            request_.warmup,
            request_.iterations,
            jobs_.check,
            options_.limits.deadline,
            jobs_.fault};
  }

  SizeTimes run(const Plan& plan, const Goal& goal, const Expectation& expectation,
                std::uint64_t bytes) {
    const ProgramRun run = workload(plan, expectation, bytes);
    const Job job = job_of(run);
    const std::vector<RankResult> results = backend_.run(job);
    SizeTimes times;
    times.bytes = bytes;
    times.elements = plan.chunks * run.chunk_elements();
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
      times.steps.push_back(run_time(measure_step(run, job, results, step), plan.collectives));
    }
    times.total = run_time(measure_program(run, job, results), goal.collectives);
    Audit all;
    for (const RankResult& rank : results) {
      for (const Audit& audit : rank.audits) all.join(audit);
    }
    times.wrong = all.wrong;
    for (std::size_t i = 0; i < std::min<std::uint64_t>(all.wrong, Audit::kShown); ++i) {
      const WrongElement& each = all.shown[i];
      times.wrong_elements.push_back({each.rank, each.step, each.element,
                                      each.missing ? std::nullopt : std::optional(each.got),
                                      each.expected});
    }
    for (std::uint32_t rank = 0; rank < plan.devices; ++rank) {
      if (results[rank].strayed) times.strayed.push_back(rank);
      if (request_.record && backend_.runs(rank)) record(plan, rank, results[rank].issued);
    }
    return times;
  }

  void record(const Plan& plan, std::uint32_t rank, const std::vector<Issued>& issued) {
    const fs::path file = fs::path(*request_.record) / fmt::format("rank-{}.jsonl", rank);
    const bool first = recorded_.insert(rank).second;
    std::ofstream lines(file, first ? std::ios::trunc : std::ios::app);
    lines << record_lines(plan, number_, jobs_.type, issued);
    if (!lines.flush()) {
      throw InputError({file.string()}, "cannot be written, expected a writable folder");
    }
  }

  static bool is_goal(const Program& program) {
    const CollectiveSet& collectives = program.terms.collectives;
    const Goal& goal = program.terms.goal;
    return program.steps.size() == 1 && program.steps[0].groups == program.classes &&
           collectives.definition_of(program.steps[0].collective) == goal.definition();
  }

  /// The goal's collective over the classes of a program, which many programs share.
  RunTime run_goal(const Program& program, std::uint64_t bytes) {
    const Goal& goal = program.terms.goal;
    const auto [known, is_new] = alone_.try_emplace({goal.name, program.classes, bytes});
    if (is_new) {
      Program single{program.devices,
                     program.classes,
                     {{goal.collective, program.classes, {}}},
                     {goal.collectives, goal},
                     program.beginning};
      if (request_.backend != RunBackend::InProcess) {
        BuiltInProgram stand_in = built_in_program(single);
        if (stand_in.missing) {
          known->second.seconds = std::nan("");
          return known->second;
        }
        single = std::move(stand_in.program);
      }
      const Plan plan = plan_of(single);
      const Expectation expectation(single, Dialect::Published);
      const ProgramRun run = workload(plan, expectation, bytes);
      Job job = job_of(run);
      job.check = Check::Nothing;
      job.fault.reset();
      known->second = run_time(measure_program(run, job, backend_.run(job)), goal.collectives);
    }
    return known->second;
  }

  const ProgramJobs& jobs_;
  const RunRequest& request_;
  const Options& options_;
  Backend& backend_;
  RunAnswer& answer_;
  std::uint32_t number_ = 0;
  std::set<std::uint32_t> recorded_;
  /// By goal, classes and bytes.
  std::map<std::tuple<std::string, std::vector<Group>, std::uint64_t>, RunTime> alone_;
};

void run_plan(const PlanSource& source, std::uint32_t number, const RunRequest& request,
              const Options& options, Backend& backend, PlanTimes& times) {
  const PlanRun run(source.plan);
  const Job job{
      run, number, request.warmup, request.iterations, Check::Result, options.limits.deadline, {}};
  const std::vector<RankResult> results = backend.run(job);
  times.ran = true;
  times.seconds = mean_of_slowest(job, results, 0);
  for (const RankResult& result : results) {
    const Audit& audit = result.audits.back();
    times.wrong += audit.wrong;
    if (audit.wrong == 0 || !times.first_wrong.empty()) continue;
    const WrongElement& first = audit.shown.front();
    times.first_wrong = fmt::format(
        "device {}, element {}: got {}", first.rank, first.element,
        first.missing ? "nothing"
                      : fmt::format("element {}", static_cast<std::uint64_t>(first.got) - 1));
  }
}

/// Runs on the backend of a session with `work(backend, answer)`, which returns why it was
/// interrupted, and reports with `report(answer, complete)`.
template <typename Work, typename Report>
RunAnswer run_session(const LaunchSpec& spec, RunBackend kind, Work work, Report report) {
  RunAnswer answer;
  answer.session = std::make_shared<RankSession>();
  const auto undecided = [&](const std::string& why) {
    answer.outcome = worst(answer.outcome, Outcome::Undecided);
    answer.diagnostics.push_back({Diagnostic::Kind::Undecided, why});
  };
  try {
    Backend* const backend = answer.session->open(kind, spec);
    if (backend == nullptr) {
      const SupervisedExit& exit = answer.session->exit();
      answer.reports = false;
      answer.rank_exit_code = exit.exit_code;
      if (!exit.fault.empty()) undecided(exit.fault);
      return answer;
    }
    answer.reports = backend->reports();
    const std::string interrupted = work(*backend, answer);
    if (!interrupted.empty()) undecided(interrupted);
    answer.document = report(answer, interrupted.empty());
  } catch (const Interrupted& failure) {
    answer.reports = false;
    undecided(failure.what());
  } catch (const InputError&) {  // mostly all ranks meet it, and one reports it
    if (answer.session->rank() == 0) throw;
    answer.reports = false;
    answer.rank_exit_code = answer.session->finish(kBadInput);
  }
  return answer;
}

RunAnswer run_programs(const RunRequest& request, const Options& options) {
  GivenInstance given = given_instance(request.instance);
  const Soundness soundness = read_terms(request.instance, options, given);
  if (soundness.outcome != Outcome::Established) {
    RunAnswer answer;
    answer.outcome = soundness.outcome;
    answer.diagnostics = soundness.diagnostics;
    return answer;
  }
  if (request.dry_run) return plan_programs(request, given, options);
  const ProgramJobs jobs = read_jobs(request, given, options);
  if (request.record) {
    std::error_code failure;
    fs::create_directories(*request.record, failure);
    if (failure) throw InputError({*request.record}, "cannot be made: " + failure.message());
  }
  const auto work = [&](Backend& backend, RunAnswer& answer) {
    std::atomic<std::uint32_t> number = 0;
    const Progress progress = backend.reports() ? options.progress : Progress();
    const ProgressReporter reporter(progress, [&] {
      return fmt::format("run: at program {} of {}", number.load(), jobs.programs.size());
    });
    std::string interrupted;
    try {
      ProgramRunner(jobs, request, options, backend, answer).run_all(number);
    } catch (const Interrupted& failure) {
      interrupted = failure.what();
    }
    for (const ProgramTimes& program : answer.programs) {
      bool refuted = program.skipped;
      for (const SizeTimes& size : program.sizes) {
        refuted = refuted || size.wrong > 0 || !size.strayed.empty();
      }
      const bool whole = program.skipped || program.sizes.size() == jobs.sizes.size();
      answer.results.push_back({program.file, refuted ? Outcome::Refuted
                                              : whole ? Outcome::Established
                                                      : Outcome::Undecided});
      answer.outcome = worst(answer.outcome, answer.results.back().outcome);
    }
    return interrupted;
  };
  return run_session(launch_spec(jobs, request, options), request.backend, work,
                     [&](const RunAnswer& answer, bool complete) {
                       return program_report(answer, jobs, request, options.seed, complete);
                     });
}

/// Throws InputError for what is for programs only.
void require_plan_request(const RunRequest& request) {
  const InstanceSpec& instance = request.instance;
  constexpr const char* kWhat = "is a plan of a resharding";
  const std::string_view setting = program_setting(request);
  refuse_flags(request.files.front(), kWhat, {{setting, !setting.empty()}});
  refuse_flags(request.files.front(), kWhat,
               {{"hierarchy", instance.hierarchy.has_value()},
                {"system", instance.system.has_value()},
                {"axes", instance.axes.has_value()},
                {"reduce", instance.reduce.has_value()},
                {"placement", instance.placement.has_value()},
                {"collectives", !instance.collectives.empty()},
                {"goal", instance.goal.has_value()}});
}

RunAnswer run_plans(const std::vector<PlanSource>& plans, const RunRequest& request,
                    const Options& options) {
  const auto work = [&](Backend& backend, RunAnswer& answer) {
    std::string interrupted;
    for (const PlanSource& each : plans) {
      const auto number = static_cast<std::uint32_t>(answer.plans.size() + 1);
      PlanTimes& times = answer.plans.emplace_back();
      times.file = each.file;
      const auto fault = judge(each.plan).violation;
      if (fault) times.refused = fault->explanation;
      if (!fault || request.force) {
        try {
          run_plan(each, number, request, options, backend, times);
        } catch (const Interrupted& failure) {
          interrupted = fmt::format("plan {}: {}", number, failure.what());
        }
      }
      const bool refuted = fault || times.wrong > 0;
      answer.results.push_back({each.file, refuted     ? Outcome::Refuted
                                           : times.ran ? Outcome::Established
                                                       : Outcome::Undecided});
      answer.outcome = worst(answer.outcome, answer.results.back().outcome);
      if (!interrupted.empty()) break;
    }
    return interrupted;
  };
  return run_session(launch_spec(plans, request, options), request.backend, work,
                     [&](const RunAnswer& answer, bool /*complete*/) {
                       return plan_report(answer, plans, request);
                     });
}

}  // namespace

bool started_by_mpirun() { return execution::under_mpirun(); }

int RunAnswer::finish(int exit_code) const {
  return session == nullptr ? exit_code : session->finish(exit_code);
}

RunAnswer run(const RunRequest& request, const Options& options) {
  std::vector<PlanSource> plans;
  for (const std::string& text : request.plan_texts) {
    plans.push_back({"", reshard::read_plan("--plan", text)});
  }
  if (!request.files.empty() && is_onesided(read_file(request.files.front()))) {
    return run_onesided(request, options);
  }
  if (!request.files.empty() && reshard::is_plan(read_file(request.files.front()))) {
    require_plan_request(request);
    for (const std::string& file : request.files) {
      plans.push_back({file, reshard::read_plan(file, read_file(file))});
    }
  }
  return plans.empty() ? run_programs(request, options) : run_plans(plans, request, options);
}

}  // namespace p2
