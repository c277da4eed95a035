#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/instance_options.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/run/program_runner.h"
#include "cli/run/run_backend.h"
#include "cli/run/run_plan.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

using execution::Backend;
using execution::Interrupted;

int exit_code(const RunReport& report) {
  if (report.wrong() > 0 || report.any_skipped() || report.any_strayed()) return kRefuted;
  return report.interrupted.empty() ? kEstablished : kUndecided;
}

void print(const RunReport& report, const RunRequest& request, std::ostream& out) {
  Output output(request.common.output, out);
  if (request.common.format == Format::Json) {
    print_json(report, request, output.stream());
  } else {
    print_text(report, request, output.stream());
  }
  output.finish();
}

/// In this process, alone or as one rank of several.
int run_here(const RunRequest& request, Backend& backend, std::ostream& out, std::ostream& err) {
  const bool reports = backend.reports();
  std::atomic<std::size_t> at = 0;
  RunReport report;
  {
    const ProgressLine progress(reports ? request.common.progress : ShowProgress::Never, err, [&] {
      return fmt::format("run: at program {} of {}", at.load(), request.programs.size());
    });
    report = run_programs(request, backend, at);
  }
  if (!report.interrupted.empty()) err << "p2-verify: " << report.interrupted << "\n";
  if (reports) print(report, request, out);
  return exit_code(report);
}

/// Wherever the request says.
int run_there(const RunRequest& request, const Arguments& arguments, std::ostream& out,
              std::ostream& err) {
  RunPlace place;
  const auto there = [&]() -> std::optional<int> {
    place.open(request, arguments);
    if (place.backend() == nullptr) return std::nullopt;
    return run_here(request, *place.backend(), out, err);
  };
  return place.run(there, err);
}

}  // namespace

int run_run(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  po::options_description own = instance_flags();
  own.add(run_flags());
  const CommandLine line(
      "usage: p2-verify run FILE… [OPTION…]\n"
      "       p2-verify run --hierarchy SIZES --axes SIZES --reduce AXES [OPTION…]\n"
      "Runs programs, or plans of reshardings, on real data, checks every element and measures\n"
      "every step.",
      own, arguments, "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  if (const auto code = run_plan_files(line, arguments, out, err)) return *code;
  const RunRequest request = run_request(line);
  if (request.record) {
    std::error_code failure;
    std::filesystem::create_directories(*request.record, failure);
    if (failure) throw InputError({*request.record}, "cannot be made: " + failure.message());
  }
  return run_there(request, arguments, out, err);
}

}  // namespace p2
