#include <algorithm>
#include <ostream>
#include <variant>

#include <fmt/format.h>

#include "cli/check_certificate.h"
#include "cli/check_hlo.h"
#include "cli/check_msccl.h"
#include "cli/check_report.h"
#include "cli/check_request.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/reproducer.h"
#include "cli/terms_options.h"
#include "encodings/z3/validity.h"
#include "engine/msccl/algorithm_file.h"
#include "engine/program/explanation.h"

namespace p2 {
namespace {

using Judged = std::variant<CheckResult, MscclResult, HloResult>;

const Findings& findings_of(const Judged& judged) {
  return std::visit([](const auto& result) -> const Findings& { return result.findings; }, judged);
}

CheckResult check_program(const std::string& file, const std::string& text,
                          const CheckRequest& request) {
  const Limits& limits = request.common.limits;
  CheckResult result{file, read_program(file, text, request.given), {}, {}, {}, {}};
  const Program& program = result.read.program;
  const Engines engines = on_terms(request.engines, program.terms);
  result.cnf_left_out = engines.cnf_left_out;
  if (request.certificates) require_paper("--certify", program.terms);
  StateTable states(program.chunks());
  result.verdict = check(program, result.read.dialect, states, limits);
  if (result.verdict.refutation) {
    result.reason = explain(*result.verdict.refutation, program, result.instance());
  } else if (result.verdict.kind == Verdict::Kind::Unknown) {
    result.reason = fmt::format("A limit was met after {} of {} steps, all of them legal.",
                                result.verdict.legal_steps, program.steps.size());
  }
  result.findings = ask(engines, result.read, result.verdict, limits);
  return result;
}

Judged judge_file(const std::string& file, const CheckRequest& request, std::size_t index,
                  std::ostream& err, bool& bad_input) {
  const std::string text = read_file(file);
  if (msccl::is_xml(text)) return check_msccl(file, text, request);
  if (is_module(text)) return check_hlo(file, text, request);
  CheckResult result = check_program(file, text, request);
  if (request.certificates) certify(result, request, index, err, bad_input);
  return result;
}

/// Judges all files, whatever is wrong with one of them; that goes to `err`.
std::vector<Judged> judge(const CheckRequest& request, std::ostream& err, bool& bad_input) {
  std::vector<Judged> results;
  if (request.hlo.before) results.emplace_back(compare_hlo(request));
  for (std::size_t i = 0; i < request.files.size(); ++i) {
    try {
      results.push_back(judge_file(request.files[i], request, i, err, bad_input));
    } catch (const InputError& error) {
      err << "p2-verify: " << error.what() << "\n";
      bad_input = true;
    }
  }
  return results;
}

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

/// The programs on which engines disagree, and what each says of them.
void print_disagreements(const std::vector<Judged>& results, std::ostream& out) {
  out << "{\"disagreements\":[";
  const char* separator = "\n";
  for (const Judged& judged : results) {
    const auto* result = std::get_if<CheckResult>(&judged);
    if (result == nullptr || !disagree(result->findings)) continue;
    out << separator << "{\"result\":" << to_json(*result) << ",\n\"program\":"
        << to_json(result->read.program, result->instance(), result->read.dialect) << "}";
    separator = ",\n";
  }
  out << "\n]}\n";
}

/// A disagreement goes before everything else: whatever the verdicts are, they are not to be
/// trusted.
int exit_code(const std::vector<Judged>& results, bool bad_input, std::ostream& err) {
  const auto any = [&](auto holds) { return std::any_of(results.begin(), results.end(), holds); };
  const auto says = [&](const char* verdict) {
    return any([&](const Judged& judged) {
      const Findings& findings = findings_of(judged);
      return std::any_of(findings.begin(), findings.end(),
                         [&](const auto& each) { return each.second.verdict == verdict; });
    });
  };
  if (any([](const Judged& judged) { return disagree(findings_of(judged)); })) {
    write_reproducer([&](std::ostream& out) { print_disagreements(results, out); }, err);
    return kDisagreement;
  }
  if (bad_input) return kBadInput;
  if (says("invalid")) return kRefuted;
  return says("unknown") ? kUndecided : kEstablished;
}

std::string text_of(const Judged& judged, const CheckRequest& request) {
  const auto* program = std::get_if<CheckResult>(&judged);
  if (program != nullptr) return to_text(*program, request.explain, request.common.limits);
  const auto* module = std::get_if<HloResult>(&judged);
  return module != nullptr ? to_text(*module) : to_text(std::get<MscclResult>(judged));
}

void print(const std::vector<Judged>& results, const CheckRequest& request, std::ostream& out) {
  if (request.common.format == Format::Text) {
    for (const Judged& judged : results) out << text_of(judged, request);
    return;
  }
  out << "{\"results\":[";
  for (const Judged& judged : results) {
    out << (&judged == &results.front() ? "\n" : ",\n")
        << std::visit([](const auto& result) { return to_json(result); }, judged);
  }
  out << "\n]}\n";
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
      "Judges programs given as JSON or in .p2 notation, algorithms given as MSCCL XML, and "
      "modules\n"
      "of XLA and StableHLO. A file that names no instance is read against the one given here;\n"
      "--dialect goes before the dialect that a file names.",
      check_flags(), arguments, "files");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  CheckRequest request = check_request(line, z3_definitions);
  const ExitCode examined = read_terms(line, request.common, err, request.given, &request.files);
  if (examined != kEstablished) return examined;
  if (request.files.empty() && !request.hlo.before) {
    throw InputError({"command line"}, "no file, expected at least one");
  }
  if (request.smt2 && (request.files.size() != 1 || request.hlo.before)) {
    throw InputError({"--smt2"}, "writes one query, expected one program");
  }
  bool bad_input = false;
  const std::vector<Judged> results = judge(request, err, bad_input);
  if (request.smt2 && !results.empty()) write_smt2(std::get<CheckResult>(results[0]), request, out);
  Output output(request.common.output, out);
  print(results, request, output.stream());
  output.finish();
  return exit_code(results, bad_input, err);
}

}  // namespace p2
