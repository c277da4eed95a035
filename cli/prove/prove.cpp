#include <atomic>
#include <ostream>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/prove/html_page.h"
#include "cli/prove/prove_certificate.h"
#include "cli/prove/prove_report.h"
#include "cli/prove/prove_request.h"
#include "cli/prove/prove_schedules.h"
#include "proofs/claims/errata.h"
#include "proofs/claims/summary.h"

namespace p2 {
namespace {

std::vector<claims::Result> settle(const claims::Request& request, const CommandLine& line,
                                   const CommonOptions& common, std::ostream& err) {
  claims::CampaignProgress progress;
  claims::CampaignOptions options;
  options.jobs = common.jobs;
  options.limits = common.limits;
  options.journal = line.text("resume");
  options.progress = &progress;
  const ProgressLine shown(common.progress, err, [&] {
    return fmt::format("prove: {} of {} searches done",
                       progress.searches_known.load() + progress.searches_done.load(),
                       progress.searches.load());
  });
  return claims::settle(request, options);
}

struct Results {
  std::vector<claims::Result> systems;
  std::vector<claims::ScheduleResult> schedules;
};

claims::Outcome verdict_of(const Results& results) {
  return verdict_with(
      results.systems.empty() ? claims::Outcome::Holds : claims::verdict_of(results.systems),
      results.schedules);
}

ExitCode exit_code(const Results& results) {
  switch (verdict_of(results)) {
    case claims::Outcome::Holds:
      return kEstablished;
    case claims::Outcome::Refuted:
      return kRefuted;
    case claims::Outcome::Undecided:
      break;
  }
  return kUndecided;
}

void print(const Results& results, const claims::Request& request,
           const claims::ResultCertificates& certificates, Format format, std::ostream& out) {
  const bool systems = !request.claims.empty();
  if (format == Format::Json) {
    if (systems) return print_json(results.systems, request, certificates, results.schedules, out);
    out << "{\"schedules\":";
    print_schedules_json(results.schedules, out);
    fmt::print(out, ",\"verdict\":\"{}\"}}\n", claims::to_string(verdict_of(results)));
    return;
  }
  if (systems) print_text(results.systems, request, certificates, out);
  if (systems && !results.schedules.empty()) out << "\n";
  print_schedules_text(results.schedules, out);
}

void write_report(const Results& results, const claims::Request& request,
                  const claims::ResultCertificates& certificates, const std::string& path,
                  std::ostream& out) {
  std::ostringstream markdown;
  if (!request.claims.empty()) {
    claims::write_errata(results.systems, request, certificates, markdown);
  }
  if (!results.schedules.empty()) claims::write_schedule_errata(results.schedules, markdown);
  Output file(path, out);
  if (path.ends_with(".html")) {
    write_html_page("Errata", markdown.str(), file.stream());
  } else {
    file.stream() << markdown.str();
  }
  file.finish();
}

void print_registry(const CommonOptions& common, std::ostream& out) {
  Output output(common.output, out);
  if (common.format == Format::Json) {
    print_registry_json(output.stream());
  } else {
    print_registry_text(output.stream());
    print_schedule_registry_text(output.stream());
  }
  output.finish();
}

}  // namespace

int run_prove(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(
      "usage: p2-verify prove CLAIM… [OPTION…]\n"
      "Settles statements of the paper on every small system, or on the one given, and shows the\n"
      "smallest counterexample of those that are false.",
      prove_flags(), arguments, "claims");
  const CommonOptions common = line.common();
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  if (line.has("list")) {
    print_registry(common, out);
    return kEstablished;
  }
  const claims::Request request = prove_request(line);
  Results results{{}, settle(schedule_claims_of(line), common, err)};
  if (!request.claims.empty()) results.systems = settle(request, line, common, err);
  ResultCertification certified;
  if (const auto folder = line.text("certify")) {
    std::atomic<std::size_t> done = 0;
    const ProgressLine shown(common.progress, err, [&] {
      return fmt::format("prove: {} of {} results certified", done.load(), results.systems.size());
    });
    certified = certify_results(results.systems, {request.size, common.limits, request.deep},
                                {*folder, common.seed, common.jobs}, done);
  }
  for (const auto& [result, words] : certified.complaints) {
    fmt::print(err, "p2-verify: {}\n", words);
  }
  if (const auto path = line.text("report")) {
    write_report(results, request, certified.written, *path, out);
  }
  Output output(common.output, out);
  print(results, request, certified.written, common.format, output.stream());
  output.finish();
  if (certified.difference) return kDisagreement;
  return certified.unwritten.value_or(exit_code(results));
}

}  // namespace p2
