#include "cli/check/program_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proofs/api/engines.h"
#include "cli/output.h"
#include "cli/terms_options.h"
#include "engine/program/drawing.h"
#include "engine/program/explanation.h"

namespace p2 {
namespace {

/// What the failed premise speaks of: devices and, where it does, chunk, contributor and counts.
std::string premise_json(const Refutation& refutation) {
  const Refusal& refusal = refutation.refusal;
  const std::uint32_t first = refutation.group[refusal.first];
  const std::uint32_t second = refutation.group[refusal.second];
  switch (refusal.premise) {
    case Premise::SameChunks:
    case Premise::DisjointChunks:
      return fmt::format(",\"devices\":[{},{}],\"chunk\":{}", first, second, refusal.chunk);
    case Premise::Disjoint:
    case Premise::Contained:
      return fmt::format(",\"devices\":[{},{}],\"chunk\":{},\"contributor\":{}", first, second,
                         refusal.chunk, refusal.contributor);
    case Premise::Divisible:
      return fmt::format(",\"devices\":[{}],\"chunks_held\":[{}]", first, refusal.first_count);
    case Premise::EqualCount:
      return fmt::format(",\"devices\":[{},{}],\"chunks_held\":[{},{}]", first, second,
                         refusal.first_count, refusal.second_count);
    case Premise::Informative:
      return fmt::format(",\"devices\":[{}]", first);
  }
  return {};
}

/// The variables of a user's premise for whose values it does not hold.
std::string defined_json(const Refutation& refutation) {
  std::string values;
  for (const language::Binding& binding : refutation.defined.witness) {
    const bool position = binding.sort == language::Sort::Position;
    values += fmt::format("{}\"{}\":{}", values.empty() ? "" : ",", binding.name,
                          position ? refutation.group[binding.value] : binding.value);
  }
  return fmt::format(",\"witness\":{{{}}}", values);
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
      json += premise_json(refutation);
      break;
    case Refutation::Rule::Lacks:
    case Refutation::Rule::Excess:
      json += fmt::format(",\"devices\":[{}],\"chunk\":{},\"contributor\":{}", refutation.device,
                          refutation.chunk, refutation.contributor);
      break;
    case Refutation::Rule::Defined:
      json += defined_json(refutation);
      break;
    case Refutation::Rule::Master:
    case Refutation::Rule::Empty:
      break;
  }
  return json + "}";
}

}  // namespace

std::string to_json(const CheckResult& result) {
  const Program& program = result.read.program;
  const std::string_view verdict = to_string(result.verdict.kind);
  std::string engines;
  std::string findings;
  for (const auto& [engine, finding] : result.findings) {
    const char* separator = engines.empty() ? "" : ",";
    engines += fmt::format("{}\"{}\":\"{}\"", separator, engine, finding.verdict);
    findings += fmt::format("{}\"{}\":{}", separator, engine, to_json(finding));
  }
  std::string json = fmt::format(
      "{{\"file\":{},\"dialect\":\"{}\",\"goal\":\"{}\",\"begins\":\"{}\",\"chunks\":{},"
      "\"verdict\":\"{}\","
      "\"engines\":{{{}}},\"findings\":{{{}}},"
      "\"certificate\":{}",
      json_string(result.file), to_string(result.read.dialect), program.terms.goal.name,
      to_string(program.beginning.start), program.chunks(), verdict, engines, findings,
      result.certificate.empty() ? "null" : json_string(result.certificate));
  if (result.cnf_left_out) json += ",\"not_asked\":[\"cnf\"]";
  if (const auto& refutation = result.verdict.refutation) {
    return json + fmt::format(",\"step\":{},\"reason\":{},\"counterexample\":{}}}",
                              refutation->step, json_string(result.reason),
                              counterexample_json(*refutation));
  }
  const std::string reason = result.reason.empty() ? "null" : json_string(result.reason);
  return json + fmt::format(",\"step\":null,\"reason\":{},\"counterexample\":null}}", reason);
}

std::string to_text(const CheckResult& result, bool explain, const Limits& limits) {
  const Program& program = result.read.program;
  std::string text = fmt::format(
      "{}: {} ({} devices, {} step{}, dialect {}{})\n", result.file, to_string(result.verdict.kind),
      program.devices, program.steps.size(), program.steps.size() == 1 ? "" : "s",
      to_string(result.read.dialect), goal_text(program.terms.goal, program.beginning));
  if (explain) {
    text += draw_derivation(program, result.read.dialect, result.instance(), limits);
  } else if (!result.reason.empty()) {
    text += result.reason + "\n";
  }
  for (const auto& [engine, finding] : result.findings) {
    if (result.findings.size() > 1) text += fmt::format("{}: {}\n", engine, to_string(finding));
  }
  if (result.cnf_left_out) text += not_asked_text() + "\n";
  if (!result.certificate.empty()) text += "certificate: " + result.certificate + "\n";
  return text;
}

}  // namespace p2
