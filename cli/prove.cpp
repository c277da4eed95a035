#include <atomic>
#include <ostream>
#include <sstream>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/html_page.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/prove_report.h"
#include "cli/prove_request.h"
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

ExitCode exit_code(const std::vector<claims::Result>& results) {
  switch (claims::verdict_of(results)) {
    case claims::Outcome::Holds:
      return kEstablished;
    case claims::Outcome::Refuted:
      return kRefuted;
    case claims::Outcome::Undecided:
      break;
  }
  return kUndecided;
}

void write_report(const std::vector<claims::Result>& results, const claims::Request& request,
                  const std::string& path, std::ostream& out) {
  Output file(path, out);
  if (path.ends_with(".html")) {
    std::ostringstream markdown;
    claims::write_errata(results, request, markdown);
    write_html_page("Errata", markdown.str(), file.stream());
  } else {
    claims::write_errata(results, request, file.stream());
  }
  file.finish();
}

void print_registry(const CommonOptions& common, std::ostream& out) {
  Output output(common.output, out);
  if (common.format == Format::Json) {
    print_registry_json(output.stream());
  } else {
    print_registry_text(output.stream());
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
  const std::vector<claims::Result> results = settle(request, line, common, err);
  if (const auto path = line.text("report")) write_report(results, request, *path, out);
  ResultCertification certified;
  if (const auto folder = line.text("certify")) {
    std::atomic<std::size_t> done = 0;
    const ProgressLine shown(common.progress, err, [&] {
      return fmt::format("prove: {} of {} results certified", done.load(), results.size());
    });
    certified = certify_results(results, {request.size, common.limits, request.deep}, *folder,
                                common.seed, err, done);
  }
  Output output(common.output, out);
  if (common.format == Format::Json) {
    print_json(results, request, certified.written, output.stream());
  } else {
    print_text(results, request, certified.written, output.stream());
  }
  output.finish();
  if (certified.difference) return kDisagreement;
  return certified.complaint ? kBadInput : exit_code(results);
}

}  // namespace p2
