#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/instance_options.h"
#include "cli/output.h"
#include "cli/program_runner.h"
#include "cli/progress_line.h"
#include "cli/run_backend.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

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

}  // namespace

int run_run(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  po::options_description own = instance_flags();
  own.add(run_flags());
  const CommandLine line(
      "usage: p2-verify run FILE… [OPTION…]\n"
      "       p2-verify run --hierarchy SIZES --axes SIZES --reduce AXES [OPTION…]\n"
      "Runs programs on real data, checks every element and measures every step.",
      own, arguments, "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const RunRequest request = run_request(line);
  if (request.record) {
    std::error_code failure;
    std::filesystem::create_directories(*request.record, failure);
    if (failure) throw InputError({*request.record}, "cannot be made: " + failure.message());
  }
  RunPlace place(request, arguments);
  if (place.backend() == nullptr) {
    if (!place.fault().empty()) err << "p2-verify: " << place.fault() << "\n";
    return place.exit_code().value_or(kUndecided);
  }
  const bool reports = place.backend()->reports();
  std::atomic<std::size_t> at = 0;
  RunReport report;
  {
    const ProgressLine progress(reports ? request.common.progress : ShowProgress::Never, err, [&] {
      return fmt::format("run: at program {} of {}", at.load(), request.programs.size());
    });
    report = run_programs(request, *place.backend(), at);
  }
  if (!report.interrupted.empty()) err << "p2-verify: " << report.interrupted << "\n";
  if (reports) print(report, request, out);
  return place.sign_out(exit_code(report));
}

}  // namespace p2
