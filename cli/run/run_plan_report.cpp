#include "cli/run/run_plan_report.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "cli/output.h"
#include "engine/execution/plans/region.h"

namespace p2 {
namespace {

std::uint64_t bytes_of(const reshard::Plan& plan) {
  std::uint64_t elements = 1;
  for (const std::int64_t length : plan.problem.shape) {
    elements *= static_cast<std::uint64_t>(length);
  }
  return elements * sizeof(reshard::Word);
}

double bandwidth(const PlanToRun& plan, const PlanRun& run) {
  return run.seconds > 0 ? static_cast<double>(bytes_of(plan.plan)) / run.seconds / 1e9 : 0;
}

/// Whether every plan got what it was to get: a run, or a refusal.
bool complete(const std::vector<PlanToRun>& plans, const std::vector<PlanRun>& runs,
              const PlanRunOptions& options) {
  return runs.size() == plans.size() && std::ranges::all_of(runs, [&](const PlanRun& run) {
           return run.ran || (!options.force && !run.refused.empty());
         });
}

}  // namespace

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
  fmt::print(out, "\n],\"wrong\":{},\"complete\":{}}}\n", wrong, complete(plans, runs, options));
}

}  // namespace p2
