#include "cli/run/program_runner.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine/execution/call_record.h"
#include "engine/execution/rank_run.h"
#include "engine/base/invariant.h"
#include "engine/program/explanation.h"

namespace p2 {
namespace {

namespace fs = std::filesystem;

using namespace execution;

class Runner {
 public:
  Runner(const RunRequest& request, Backend& backend) : request_(request), backend_(backend) {}

  RunReport run(std::atomic<std::size_t>& at) {
    try {
      for (const RunProgram& program : request_.programs) {
        at = ++number_;
        run(program);
      }
    } catch (const Interrupted& end) {
      report_.interrupted = end.what();
    }
    return std::move(report_);
  }

 private:
  void run(const RunProgram& program) {
    const Program& steps = program.read.program;
    const Expectation expectation(steps, program.read.dialect);
    RunAnswer& answer = report_.programs.emplace_back();
    answer.program = &program;
    if (const auto& refutation = expectation.verdict().refutation) {
      answer.refused = explain(*refutation, steps, program.instance());
      answer.skipped = !request_.force;
      if (answer.skipped) return;
    }
    const Plan plan = plan_of(steps);
    invariant(!first_mismatch(plan, planned_calls(plan)), "the calls of a plan do not match");
    for (const std::uint64_t bytes : request_.sizes) {
      answer.sizes.push_back(run(plan, expectation, bytes));
      answer.sizes.back().allreduce = alone(steps, bytes);
    }
  }

  Job job_of(const Plan& plan, const Expectation& expectation, std::uint64_t bytes) const {
    const std::uint64_t per_chunk = plan.devices * size_of(request_.type);
    Job job{plan, expectation, {}};
    job.inputs = {request_.type, request_.inputs, plan.devices, request_.common.seed};
    job.chunk_elements = (bytes + per_chunk - 1) / per_chunk;
    job.program = static_cast<std::uint32_t>(number_);
    job.warmup = request_.warmup;
    job.iterations = request_.iterations;
    job.check = request_.check;
    job.deadline = request_.common.limits.deadline;
    job.fault = request_.fault;
    return job;
  }

  RunMeasurement run(const Plan& plan, const Expectation& expectation, std::uint64_t bytes) {
    const Job job = job_of(plan, expectation, bytes);
    const std::vector<RankResult> results = backend_.run(job);
    RunMeasurement measured;
    measured.bytes = bytes;
    measured.elements = plan.devices * job.chunk_elements;
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
      measured.steps.push_back(measure_step(job, results, step));
    }
    measured.total = measure_program(job, results);
    Audit all;
    for (const RankResult& rank : results) {
      for (const Audit& audit : rank.audits) all.join(audit);
    }
    measured.wrong = all.wrong;
    measured.shown.assign(all.shown.begin(),
                          all.shown.begin() + std::min<std::uint64_t>(all.wrong, Audit::kShown));
    for (std::uint32_t rank = 0; rank < plan.devices; ++rank) {
      if (results[rank].strayed) measured.strayed.push_back(rank);
      if (request_.record && backend_.runs(rank)) record(job, rank, results[rank].issued);
    }
    return measured;
  }

  void record(const Job& job, std::uint32_t rank, const std::vector<Issued>& issued) {
    const fs::path file = fs::path(*request_.record) / fmt::format("rank-{}.jsonl", rank);
    const bool first = recorded_.insert(rank).second;
    std::ofstream lines(file, first ? std::ios::trunc : std::ios::app);
    lines << record_lines(job, issued);
    if (!lines.flush()) {
      throw InputError({file.string()}, "cannot be written, expected a writable folder");
    }
  }

  /// The single AllReduce over the classes of a program, which many programs share.
  Measurement alone(const Program& program, std::uint64_t bytes) {
    const auto [known, is_new] = alone_.try_emplace({program.classes, bytes});
    if (is_new) {
      const Program single{
          program.devices, program.classes, {{Collective::AllReduce, program.classes, {}}}};
      const Plan plan = plan_of(single);
      const Expectation expectation(single, Dialect::Published);
      Job job = job_of(plan, expectation, bytes);
      job.check = Check::Nothing;
      job.fault.reset();
      known->second = measure_program(job, backend_.run(job));
    }
    return known->second;
  }

  const RunRequest& request_;
  Backend& backend_;
  RunReport report_;
  std::size_t number_ = 0;
  std::set<std::uint32_t> recorded_;
  std::map<std::pair<std::vector<Group>, std::uint64_t>, Measurement> alone_;
};

}  // namespace

RunReport run_programs(const RunRequest& request, Backend& backend, std::atomic<std::size_t>& at) {
  return Runner(request, backend).run(at);
}

}  // namespace p2
