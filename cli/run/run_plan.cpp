#include "cli/run/run_plan.h"

#include <algorithm>
#include <optional>
#include <ostream>

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/run/plan_place.h"
#include "cli/run/run_plan_report.h"
#include "p2/error.h"
#include "engine/reshard/plans/plan_fault.h"
#include "engine/reshard/plans/plan_file.h"

namespace p2 {
namespace {

using execution::Interrupted;
using reshard::DeviceResult;

PlanRun summary_of(const std::vector<DeviceResult>& results, unsigned iterations) {
  PlanRun run;
  run.ran = true;
  for (unsigned i = 0; i < iterations; ++i) {
    double slowest = 0;
    for (const DeviceResult& each : results) slowest = std::max(slowest, each.seconds[i]);
    run.seconds += slowest / iterations;
  }
  for (std::size_t device = 0; device < results.size(); ++device) {
    run.wrong += results[device].wrong;
    if (results[device].wrong == 0 || !run.first_wrong.empty()) continue;
    const std::uint64_t got = results[device].got;
    run.first_wrong =
        fmt::format("device {}, element {}: got {}", device, results[device].where,
                    got == 0 ? std::string("nothing") : fmt::format("element {}", got - 1));
  }
  return run;
}

/// In this process, alone or as one rank of several.
int run_here(const std::vector<PlanToRun>& plans, const PlanRunOptions& options,
             const CommonOptions& common, reshard::PlanBackend& backend, std::ostream& out,
             std::ostream& err) {
  std::vector<PlanRun> runs;
  std::string interrupted;
  for (const PlanToRun& each : plans) {
    const auto number = static_cast<std::uint32_t>(runs.size() + 1);
    const auto fault = judge(each.plan).fault;
    PlanRun& run = runs.emplace_back();
    if (!fault || options.force) {
      try {
        run = summary_of(backend.run({each.plan, number, options.warmup, options.iterations,
                                      common.limits.deadline}),
                         options.iterations);
      } catch (const Interrupted& end) {
        interrupted = fmt::format("plan {}: {}", number, end.what());
      }
    }
    if (fault) run.refused = fault->explanation;
    if (!interrupted.empty()) break;
  }
  if (!interrupted.empty()) err << "p2-verify: " << interrupted << "\n";
  if (backend.reports()) {
    Output output(common.output, out);
    (common.format == Format::Json ? print_json : print_text)(plans, runs, options,
                                                              output.stream());
    output.finish();
  }
  const bool right = std::all_of(runs.begin(), runs.end(), [](const PlanRun& run) {
    return run.refused.empty() && run.wrong == 0;
  });
  return !right ? kRefuted : interrupted.empty() ? kEstablished : kUndecided;
}

}  // namespace

PlanRunOptions plan_run_options(const CommandLine& line) {
  PlanRunOptions options;
  options.backend = line.choice<BackendKind>("backend", {{"in-process", BackendKind::InProcess},
                                                         {"mpi", BackendKind::Mpi},
                                                         {"nccl", BackendKind::Nccl}});
  options.iterations = static_cast<unsigned>(line.integer("iterations", 1, 100'000, 5));
  options.warmup = static_cast<unsigned>(line.integer("warmup", 0, 100'000, 1));
  options.force = line.has("force");
  return options;
}

int run_plans(const std::vector<PlanToRun>& plans, const PlanRunOptions& options,
              const CommonOptions& common, const Arguments& words, std::ostream& out,
              std::ostream& err) {
  std::vector<reshard::Plan> all;
  for (const PlanToRun& each : plans) all.push_back(each.plan);
  PlanPlace place;
  const auto there = [&]() -> std::optional<int> {
    place.open(options, all, common, words);
    if (place.backend() == nullptr) return std::nullopt;
    return run_here(plans, options, common, *place.backend(), out, err);
  };
  return place.run(there, err);
}

std::optional<int> run_plan_files(const CommandLine& line, const Arguments& arguments,
                                  std::ostream& out, std::ostream& err) {
  const std::vector<std::string> files = line.texts("files");
  if (files.empty() || !reshard::is_plan(read_file(files[0]))) return std::nullopt;
  for (const char* flag : {"bytes", "sizes", "type", "inputs", "check", "top", "record", "fault",
                           "size", "hierarchy", "system", "axes", "reduce", "placement"}) {
    if (line.has(flag)) {
      throw InputError({files[0]},
                       fmt::format("is a plan of a resharding, expected no --{}", flag));
    }
  }
  std::vector<PlanToRun> plans;
  for (const std::string& file : files) {
    plans.push_back({file, reshard::read_plan(file, read_file(file))});
  }
  Arguments words = {"run"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_plans(plans, plan_run_options(line), line.common(), words, out, err);
}

}  // namespace p2
