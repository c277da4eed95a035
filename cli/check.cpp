#include <algorithm>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/instance_options.h"
#include "cli/output.h"
#include "engine/program/drawing.h"
#include "engine/program/explanation.h"
#include "engine/program/notation.h"
#include "engine/program/program_file.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

struct Result {
  std::string file;
  ProgramFile read;
  Verdict verdict;
  std::string reason;  ///< one paragraph; empty when valid

  const Instance* instance() const { return read.instance ? &*read.instance : nullptr; }
};

po::options_description check_flags() {
  po::options_description flags("Check");
  flags.add_options()                                                                          //
      ("engine", po::value<std::string>()->value_name("NAME"), "explicit (the only one yet)")  //
      ("explain", "draw the device states after every step");
  return flags;
}

Result check_file(const std::string& file, const GivenInstance& given, const Limits& limits) {
  Result result{file, read_program(file, read_file(file), given), {}, {}};
  const Program& program = result.read.program;
  StateTable states(program.devices);
  result.verdict = check(program, result.read.dialect, states, limits);
  if (result.verdict.refutation) {
    result.reason = explain(*result.verdict.refutation, program, result.instance());
  } else if (result.verdict.kind == Verdict::Kind::Unknown) {
    result.reason = fmt::format("A limit was met after {} of {} steps, all of them legal.",
                                result.verdict.legal_steps, program.steps.size());
  }
  return result;
}

/// The counterexample for machines: where it breaks and the devices, chunk and contributor to look
/// at.
std::string counterexample_json(const Refutation& refutation) {
  std::string json =
      fmt::format("{{\"rule\":\"{}\",\"step\":{}", rule_name(refutation), refutation.step);
  if (!refutation.group.empty()) {
    json += fmt::format(",\"group\":[{}]", fmt::join(refutation.group, ","));
  }
  switch (refutation.rule) {
    case Refutation::Rule::Premise:
      json += fmt::format(",\"devices\":[{},{}],\"chunk\":{},\"contributor\":{}",
                          refutation.group[refutation.refusal.first],
                          refutation.group[refutation.refusal.second], refutation.chunk,
                          refutation.contributor);
      break;
    case Refutation::Rule::Lacks:
    case Refutation::Rule::Excess:
      json += fmt::format(",\"devices\":[{}],\"chunk\":{},\"contributor\":{}", refutation.device,
                          refutation.chunk, refutation.contributor);
      break;
    case Refutation::Rule::Master:
    case Refutation::Rule::Empty:
      break;
  }
  return json + "}";
}

std::string to_json(const Result& result) {
  const std::string_view verdict = to_string(result.verdict.kind);
  std::string json = fmt::format(
      "{{\"file\":{},\"dialect\":\"{}\",\"verdict\":\"{}\",\"engines\":{{\"explicit\":\"{}\"}}",
      json_string(result.file), to_string(result.read.dialect), verdict, verdict);
  if (const auto& refutation = result.verdict.refutation) {
    return json + fmt::format(",\"step\":{},\"reason\":{},\"counterexample\":{}}}",
                              refutation->step, json_string(result.reason),
                              counterexample_json(*refutation));
  }
  const std::string reason = result.reason.empty() ? "null" : json_string(result.reason);
  return json + fmt::format(",\"step\":null,\"reason\":{},\"counterexample\":null}}", reason);
}

std::string to_text(const Result& result, bool explain) {
  const Program& program = result.read.program;
  std::string text =
      fmt::format("{}: {} ({} devices, {} step{}, dialect {})\n", result.file,
                  to_string(result.verdict.kind), program.devices, program.steps.size(),
                  program.steps.size() == 1 ? "" : "s", to_string(result.read.dialect));
  if (explain) {
    text += draw_derivation(program, result.read.dialect, result.instance());
  } else if (!result.reason.empty()) {
    text += result.reason + "\n";
  }
  return text;
}

int exit_code(const std::vector<Result>& results, bool bad_input) {
  const auto any = [&](Verdict::Kind kind) {
    return std::any_of(results.begin(), results.end(),
                       [&](const Result& result) { return result.verdict.kind == kind; });
  };
  if (bad_input) return kBadInput;
  if (any(Verdict::Kind::Invalid)) return kRefuted;
  return any(Verdict::Kind::Unknown) ? kUndecided : kEstablished;
}

}  // namespace

int run_check(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  po::options_description own = instance_flags();
  own.add(check_flags());
  const CommandLine line(
      "usage: p2-verify check FILE… [OPTION…]\n"
      "Judges programs given as JSON or in .p2 notation. A file that names no instance is read\n"
      "against the one given here.",
      own, arguments, "files");
  const CommonOptions common = line.common();
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const GivenInstance given = given_instance(line);
  if (const auto engine = line.text("engine"); engine && *engine != "explicit") {
    throw InputError({"--engine"}, "unknown '" + *engine + "', expected explicit");
  }
  const std::vector<std::string> files = line.texts("files");
  if (files.empty()) throw InputError({"command line"}, "no file, expected at least one");

  std::vector<Result> results;
  bool bad_input = false;
  for (const std::string& file : files) {
    try {
      results.push_back(check_file(file, given, common.limits));
    } catch (const InputError& error) {
      err << "p2-verify: " << error.what() << "\n";
      bad_input = true;
    }
  }
  Output output(common.output, out);
  if (common.format == Format::Json) {
    output.stream() << "{\"results\":[";
    for (const Result& result : results) {
      output.stream() << (&result == &results.front() ? "\n" : ",\n") << to_json(result);
    }
    output.stream() << "\n]}\n";
  } else {
    for (const Result& result : results) output.stream() << to_text(result, line.has("explain"));
  }
  output.finish();
  return exit_code(results, bad_input);
}

}  // namespace p2
