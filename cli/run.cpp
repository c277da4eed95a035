#include <unistd.h>

#include <filesystem>
#include <ostream>
#include <stdexcept>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/instance_options.h"
#include "cli/output.h"
#include "cli/program_runner.h"
#include "cli/progress_line.h"
#include "engine/execution/in_process.h"

namespace p2 {
namespace {

namespace po = boost::program_options;
using execution::Backend;
using execution::InProcess;
using execution::Plan;

constexpr std::uint32_t kMostThreads = 256;

/// The bytes that the buffers of all ranks of the largest run take up.
std::uint64_t bytes_needed(const RunRequest& request) {
  std::uint64_t most = 0;
  const std::uint64_t bytes = request.sizes.back();
  for (const RunProgram& program : request.programs) {
    const Plan plan = execution::plan_of(program.read.program);
    most = std::max(most, 2 * bytes * plan.most_rows);  // rows of bytes/devices, devices times
  }
  return most;
}

/// Throws where the machine cannot hold the buffers, before it is driven out of memory.
void require_room(const RunRequest& request) {
  const std::uint64_t there = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                              static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  const std::uint64_t most = request.common.limits.memory_bytes.value_or(there / 10 * 9);
  const std::uint64_t needed = bytes_needed(request);
  if (needed <= most) return;
  throw std::length_error(
      fmt::format("the buffers of all devices would take {} MiB of {}, "
                  "expected smaller --bytes",
                  needed >> 20U, most >> 20U));
}

std::unique_ptr<Backend> in_process(const RunRequest& request) {
  for (const RunProgram& program : request.programs) {
    if (program.read.program.devices > kMostThreads) {
      throw InputError({"--backend"}, fmt::format("{} devices, expected at most {} in one process",
                                                  program.read.program.devices, kMostThreads));
    }
  }
  require_room(request);
  return std::make_unique<InProcess>();
}

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
  const std::unique_ptr<Backend> backend = in_process(request);
  if (request.record) {
    std::error_code failure;
    std::filesystem::create_directories(*request.record, failure);
    if (failure) throw InputError({*request.record}, "cannot be made: " + failure.message());
  }
  std::atomic<std::size_t> at = 0;
  RunReport report;
  {
    const ProgressLine progress(request.common.progress, err, [&] {
      return fmt::format("run: at program {} of {}", at.load(), request.programs.size());
    });
    report = run_programs(request, *backend, at);
  }
  if (!report.interrupted.empty()) err << "p2-verify: " << report.interrupted << "\n";
  if (backend->reports()) print(report, request, out);
  return exit_code(report);
}

}  // namespace p2
