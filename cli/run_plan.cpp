#include "cli/run_plan.h"

#include <algorithm>
#include <optional>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/plan_place.h"
#include "engine/input/input_error.h"
#include "engine/reshard/plan_fault.h"
#include "engine/reshard/plan_file.h"

namespace p2 {
namespace {

using execution::Interrupted;
using reshard::DeviceResult;

/// What became of one plan.
struct PlanRun {
  std::string refused;  ///< why it was not run
  bool ran = false;
  double seconds = 0;  ///< mean over the timed runs of the slowest device's time
  std::uint64_t wrong = 0;
  std::string first_wrong;
};

std::uint64_t bytes_of(const reshard::Plan& plan) {
  std::uint64_t elements = 1;
  for (const std::int64_t length : plan.problem.shape) {
    elements *= static_cast<std::uint64_t>(length);
  }
  return elements * sizeof(reshard::Word);
}

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

double bandwidth(const PlanToRun& plan, const PlanRun& run) {
  return run.seconds > 0 ? static_cast<double>(bytes_of(plan.plan)) / run.seconds / 1e9 : 0;
}

void print_text(const std::vector<PlanToRun>& plans, const std::vector<PlanRun>& runs,
                const PlanRunOptions& options, std::ostream& out) {
  fmt::print(out, "# {} timed runs after {}\n# {:>11} {:>8} {:>10} {:>10} {:>8} {:>7}  plan\n",
             options.iterations, options.warmup, "size", "devices", "transfers", "time", "algbw",
             "#wrong");
  fmt::print(out, "# {:>11} {:>8} {:>10} {:>10} {:>8} {:>7}\n", "(B)", "", "", "(us)", "(GB/s)",
             "");
  std::size_t ran = 0;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PlanRun& run = runs[i];
    const reshard::Plan& plan = plans[i].plan;
    const std::string name =
        fmt::format("{}{}{}", plans[i].file, plans[i].file.empty() ? "" : " ", plan.strategy);
    if (!run.refused.empty()) fmt::print(out, "# refused: {}: {}\n", name, run.refused);
    if (!run.ran) continue;
    ++ran;
    wrong += run.wrong;
    fmt::print(out, "  {:>11} {:>8} {:>10} {:>10.2f} {:>8.2f} {:>7}  {}\n", bytes_of(plan),
               plan.problem.devices(), plan.transfers(), run.seconds * 1e6,
               bandwidth(plans[i], run), run.wrong, name);
    if (run.wrong > 0) fmt::print(out, "# wrong at the end: {}\n", run.first_wrong);
  }
  fmt::print(out, "#\n# {} of {} plans run, {} wrong elements\n", ran, plans.size(), wrong);
}

void print_json(const std::vector<PlanToRun>& plans, const std::vector<PlanRun>& runs,
                const PlanRunOptions& options, std::ostream& out) {
  std::uint64_t wrong = 0;
  fmt::print(out, "{{\"iterations\":{},\"warmup\":{},\"results\":[", options.iterations,
             options.warmup);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PlanRun& run = runs[i];
    wrong += run.wrong;
    fmt::print(out,
               "{}{{\"file\":{},\"strategy\":{},\"bytes\":{},\"devices\":{},\"transfers\":{},"
               "\"refused\":{},\"time_us\":{},\"algbw\":{},\"wrong\":{}}}",
               i == 0 ? "\n" : ",\n", plans[i].file.empty() ? "null" : json_string(plans[i].file),
               json_string(plans[i].plan.strategy), bytes_of(plans[i].plan),
               plans[i].plan.problem.devices(), plans[i].plan.transfers(),
               run.refused.empty() ? "null" : json_string(run.refused),
               run.ran ? fmt::format("{:.2f}", run.seconds * 1e6) : "null",
               run.ran ? fmt::format("{:.3f}", bandwidth(plans[i], run)) : "null",
               run.ran ? std::to_string(run.wrong) : "null");
  }
  fmt::print(out, "\n],\"wrong\":{}}}\n", wrong);
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
  try {
    place.open(options, all, common, words);
    if (place.backend() != nullptr) {
      return place.sign_out(run_here(plans, options, common, *place.backend(), out, err));
    }
  } catch (const InputError&) {  // all ranks meet it, one says it
    const int code = place.sign_out(kBadInput);
    if (place.is_silent()) return code;
    throw;
  } catch (const Interrupted& end) {
    err << "p2-verify: " << end.what() << "\n";
    return place.sign_out(kUndecided);
  }
  if (!place.end().fault.empty()) err << "p2-verify: " << place.end().fault << "\n";
  return place.end().exit_code.value_or(kUndecided);
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
