#include <algorithm>
#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include "cli/check/assessment.h"
#include "cli/check/file_patterns.h"
#include "cli/check/report.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/reproducer.h"
#include "cli/terms_options.h"
#include "encodings/z3/validity.h"

namespace p2 {
namespace {

void write_smt2(const CheckResult& result, const CheckRequest& request, std::ostream& out) {
  z3_encoding::ValidityQuery query;
  query.program = &result.read.program;
  query.instance = result.instance();
  query.dialect = result.read.dialect;
  const Engines engines = on_terms(request.engines, query.program->terms);
  query.definitions = engines.z3_definitions;
  Output file(request.smt2, out);
  file.stream() << smt_lib(query);
  file.finish();
}

/// Bad input hides no verdict, and a disagreement goes before everything else: whatever the
/// verdicts are, they are not to be trusted.
ExitCode exit_code(const std::vector<FileReport>& reports) {
  using Status = Property::Status;
  const auto any = [&](Status outcome) {
    return std::any_of(reports.begin(), reports.end(), [&](const FileReport& report) {
      return std::any_of(
          report.properties.begin(), report.properties.end(),
          [&](const Property& property) { return property.status == outcome && !property.known; });
    });
  };
  if (any(Status::Disagreement)) return kDisagreement;
  if (any(Status::BadInput)) return kBadInput;
  if (any(Status::Refuted)) return kRefuted;
  return any(Status::Undecided) ? kUndecided : kEstablished;
}

/// The baseline that the run is held to; read before any file is judged, so that a mistake in it
/// costs no time.
std::optional<Baseline> baseline_of(const CheckRequest& request) {
  if (!request.baseline) return std::nullopt;
  const bool fresh = request.update_baseline && !std::filesystem::exists(*request.baseline);
  return fresh ? Baseline(*request.baseline) : Baseline::read(*request.baseline);
}

void hold_to(Baseline& baseline, const CheckRequest& request, CheckAnswer& answer,
             std::ostream& out) {
  answer.fixed = baseline.fixed(answer.reports);
  if (request.update_baseline) {
    baseline.update(answer.reports);
    Output file(baseline.path(), out);
    file.stream() << baseline.text();
    file.finish();
  }
  baseline.mark(answer.reports);
}

CheckRequest read_request(const CommandLine& line, z3_encoding::Definitions z3_definitions,
                          std::ostream& err, ExitCode& examined) {
  CheckRequest request = check_request(line, z3_definitions);
  examined = read_terms(line, request.common, err, request.given, &request.files);
  request.files = files_named(request.files);
  if (request.files.empty() && !request.hlo.before) {
    throw InputError({"command line"}, "no file, expected at least one");
  }
  if (request.smt2 && (request.files.size() != 1 || request.hlo.before)) {
    throw InputError({"--smt2"}, "writes one query, expected one program");
  }
  return request;
}

}  // namespace

int run_check(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  return run_check(arguments, out, err, language::built_in_definitions());
}

int run_check(const Arguments& arguments, std::ostream& out, std::ostream& err,
              z3_encoding::Definitions z3_definitions) {
  const CommandLine line(
      "usage: p2-verify check FILE… [OPTION…]\n"
      "       p2-verify check --before FILE --after FILE [OPTION…]\n"
      "Judges programs given as JSON or in .p2 notation, algorithms given as MSCCL XML, modules\n"
      "of XLA and StableHLO, and plans of reshardings (reshard --plan-out). A program that names\n"
      "no instance is read against the one given here; --dialect goes before the dialect that a\n"
      "file names. In a FILE in quotes * ? and [ ] match inside a name, ** any folders. The worst\n"
      "file decides: 4 engines disagree, 2 bad input, 1 refuted, 3 undecided, 0.",
      check_flags(), arguments, "files", Formats::Reports);
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  ExitCode examined = kEstablished;
  const CheckRequest request = read_request(line, z3_definitions, err, examined);
  if (examined != kEstablished) return examined;
  std::optional<Baseline> baseline = baseline_of(request);
  CheckAnswer answer;
  answer.outcomes = judge_files(request, err, answer.cache);
  answer.reports = reports_of(answer.outcomes);
  if (baseline) hold_to(*baseline, request, answer, out);
  answer.exit = exit_code(answer.reports);
  const auto& first = answer.outcomes[0].judged;
  if (request.smt2 && first) write_smt2(std::get<CheckResult>(*first), request, out);
  Output output(request.common.output, out);
  print(answer, request, output.stream());
  output.finish();
  if (answer.exit == kDisagreement) {
    write_reproducer([&](std::ostream& file) { print_disagreements(answer, file); }, err);
  }
  return answer.exit;
}

}  // namespace p2
